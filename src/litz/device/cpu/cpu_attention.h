#pragma once
// Fused attention of the framework's CPU library, for attention that a model wrote as products and a softmax.
#include "litz/support/check.h"
#include "litz/target/attention.h"

namespace litz {

Result<AttentionCall> cpu_attention_call(const AttentionShape& shape);

}  // namespace litz
