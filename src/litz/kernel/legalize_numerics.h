#pragma once
// legalize_numerics: rewrites a body so that narrow floats (bf16, f16, f8) are computed in float32. A narrow value remains only
// between a load or cast and the cast that widens it. By default the roundings between ops are dropped; casts of the imported
// graph (cast_kept), loads and stores round. With `strict` every op rounds as eager does.
//
//   v0 = load x [i0] : bf16; v1 = exp v0 : bf16; v2 = mul v1 v0 : bf16
//   -> v0 = load x [i0] : bf16; w0 = cast v0 f32; v1 = exp w0 : f32; v2 = mul v1 w0 : f32      (the store casts to bf16)
#include "litz/loop/body.h"

namespace litz {

/// The type in which kernels compute a value of that type.
DType compute_type(DType dtype);
Body legalize_numerics(const Body& body, bool strict);

}  // namespace litz
