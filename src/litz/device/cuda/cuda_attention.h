#pragma once
// Fused attention of the framework's GPU libraries, for attention that a model wrote as products and a softmax.
#include "litz/support/check.h"
#include "litz/target/attention.h"

namespace litz::cuda {

Result<AttentionCall> attention_call(const AttentionShape& shape);

}  // namespace litz::cuda
