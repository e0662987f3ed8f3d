#pragma once
// What a fuzzer defines and uses. A property that does not hold, an InternalError or a sanitizer's report ends the process.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "litz/support/check.h"

namespace litz {

/// Tries one input. Defined by each fuzzer.
void fuzz_one(std::span<const uint8_t> input);

/// The texts of an input, divided as golden files are.
inline std::vector<std::string_view> fuzz_texts(std::span<const uint8_t> input) {
  constexpr std::string_view kDivider = "----\n";
  std::string_view rest{reinterpret_cast<const char*>(input.data()), input.size()};
  std::vector<std::string_view> texts;
  for (size_t at; (at = rest.find(kDivider)) != rest.npos; rest.remove_prefix(at + kDivider.size())) texts.push_back(rest.substr(0, at));
  texts.push_back(rest);
  return texts;
}

inline void fuzz_check(bool holds, const std::string& message) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace litz
