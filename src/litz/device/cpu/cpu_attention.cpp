#include "litz/device/cpu/cpu_attention.h"

namespace litz {
namespace {

/// Measured: shorter rows stay in cache between the products.
constexpr int64_t kKeysWorthIt = 512;

}  // namespace

Result<AttentionCall> cpu_attention_call(const AttentionShape& s) {
  if (s.dtype == DType::kFloat16) return unsupported("no fused attention of {}", dtype_name(s.dtype));
  if (s.width != s.value_width) return unsupported("values {} wide, expected {} as the keys", s.value_width, s.width);
  if (s.keys < kKeysWorthIt)
    return unsupported("{} keys of {}, expected {} for one call to be faster", s.keys, dtype_name(s.dtype), kKeysWorthIt);
  AttentionCall call;
  call.schema =
      "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, "
      "*, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)";
  call.bias_argument = "attn_mask";
  call.results = {AttentionResult::kHeadsInRow};
  call.output_follows_query = true;
  return call;
}

}  // namespace litz
