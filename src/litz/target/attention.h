#pragma once
// Fused attention as a device's libraries have it: softmax(scale * query . transpose(key) + bias) . value, of tensors
// [batch, heads, rows, width]. The question is sizes and a type; the answer is data, an op of the framework and how it is called.
#include <cstdint>
#include <string_view>
#include <vector>

#include "litz/support/dtype.h"

namespace litz {

/// Sizes as at capture; 0 where none is known.
struct AttentionShape {
  DType dtype = DType::kFloat32;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
};

/// Results behind the output, by the framework's shape rules. Nobody reads them.
enum class AttentionResult : uint8_t {
  kHeadsInRow,  // float32 [batch, heads, queries] with the strides of [batch, queries, heads]
  kNoRowSums,   // float32 [batch, heads, 0]
  kSeed,        // int64 []
};

/// query, key and value stand first; dropout is left at its default, none.
struct AttentionCall {
  std::string_view schema;
  std::string_view bias_argument;               // of the type of the query, sizes [batch, heads, queries, keys]; strides may be 0
  std::vector<std::string_view> off_arguments;  // those without a default that are given as False
  std::vector<AttentionResult> results;
  bool output_follows_query = false;  // the output has the query's order of dimensions; else rows lie before heads
  int64_t row_bytes = 1;              // of what rows of query, key, value and bias must be multiples
};

}  // namespace litz
