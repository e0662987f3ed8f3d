#include "litz/device/cuda/cuda_attention.h"

namespace litz::cuda {

Result<AttentionCall> attention_call(const AttentionShape& s) {
  if (s.dtype != DType::kFloat32 && s.dtype != DType::kFloat16 && s.dtype != DType::kBFloat16)
    return unsupported("no fused attention of {}", dtype_name(s.dtype));
  AttentionCall call;
  call.schema =
      "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, "
      "float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor "
      "philox_offset)";
  call.bias_argument = "attn_bias";
  call.off_arguments = {"compute_log_sumexp"};
  call.results = {AttentionResult::kNoRowSums, AttentionResult::kSeed, AttentionResult::kSeed};
  call.row_bytes = 16;
  const int64_t unit = call.row_bytes / dtype_bytes(s.dtype);
  for (int64_t width : {s.width, s.value_width})
    if (width == 0 || width % unit) return unsupported("heads {} wide, expected a multiple of {}", width, unit);
  return call;
}

}  // namespace litz::cuda
