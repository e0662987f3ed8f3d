#pragma once
// Functions of integers and floats from which sizes are made (int(n * 0.3), math.sqrt(n)), on words of 64 bits. The list and what each
// computes is number_functions.def; compile time and run time both compute them here, so they never differ.
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace litz {

enum class NumberFunction : uint8_t {
#define LITZ_NUMBER_FUNCTION(name, Enumerator, operands, result, meaning) k##Enumerator,
#include "litz/support/number_functions.def"
#undef LITZ_NUMBER_FUNCTION
};

struct NumberFunctionInfo {
  std::string_view name;
  std::string_view operands;  // 'i' or 'f' each
  char result;                // 'i', 'f' or 'b'
};
const NumberFunctionInfo& info(NumberFunction function);
std::optional<NumberFunction> find_number_function(std::string_view name);

/// `b` means nothing for functions of one operand. False where Python raises or gives an integer beyond 64 bits; *result is set anyway.
bool apply(NumberFunction function, int64_t a, int64_t b, int64_t* result);

inline double float_of_word(int64_t word) { return std::bit_cast<double>(word); }
inline int64_t word_of_float(double value) { return std::bit_cast<int64_t>(value); }

}  // namespace litz
