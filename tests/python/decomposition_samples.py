"""Calls of every op that has a decomposition: small tensors, odd layouts, special values, the types that eager takes."""

import math

import torch

aten = torch.ops.aten
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 20.0, 25.0, -30.0, 100.0, 1e-3, 2.0]


def samples():
    """Yields (overload, args, kwargs)."""
    torch.manual_seed(0)
    out = []

    def add(op, *args, **kwargs):
        out.append((op, args, kwargs))

    for make in (pointwise, activations, activation_derivatives, softmaxes, reductions, normalizations, normalization_derivatives,
                 views, movement, factories, index_derivatives, losses, pools, upsampling, casts):
        make(add)
    return out


def floats(dtype, *shape):
    """Random numbers with special ones among them."""
    t = torch.randn(shape) * 3
    flat = t.view(-1)
    n = min(len(SPECIAL), flat.numel() // 2)
    flat[:n] = torch.tensor(SPECIAL[:n])
    return t.to(dtype)


def finite(dtype, *shape):
    return torch.randn(shape).to(dtype)


def layouts(t):
    """The same tensor contiguous, transposed in memory, as a slice."""
    yield t
    if t.dim() >= 2:
        yield t.transpose(0, 1).contiguous().transpose(0, 1)
        wide = torch.zeros(*t.shape[:-1], t.shape[-1] * 2, dtype=t.dtype)
        wide[..., ::2] = t
        yield wide[..., ::2]


def ints(*shape, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def pointwise(add):
    scalar_ops = [aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.div.Scalar, aten.fmod.Scalar, aten.remainder.Scalar,
                  aten.eq.Scalar, aten.ne.Scalar, aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar, aten.rsub.Scalar,
                  aten.pow.Tensor_Scalar, aten.copysign.Scalar, aten.floor_divide.Scalar]
    for op in scalar_ops:
        for dtype in FLOATS:
            for number in (2, 0.5, -3.0):
                add(op, floats(dtype, 5, 8), number)
        add(op, ints(4, 4), 3)
        add(op, ints(4, 4), 2.5)
        add(op, floats(torch.float32), 2)
    for op in (aten.add.Scalar, aten.sub.Scalar, aten.rsub.Scalar):
        add(op, floats(torch.float32, 20), 2, 3)
        add(op, ints(20), 2, 3)
    for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 1.0, 2.0):
        for dtype in FLOATS:
            add(aten.pow.Tensor_Scalar, floats(dtype, 36), exponent)
        add(aten.pow.Tensor_Scalar, ints(6), exponent if exponent >= 0 else 2)
    for mode in ("trunc", "floor", None):
        add(aten.div.Scalar_mode, floats(torch.float32, 36), 2.5, rounding_mode=mode)
        add(aten.div.Scalar_mode, ints(20), 3, rounding_mode=mode)
    for op in (aten.bitwise_and.Scalar, aten.bitwise_or.Scalar, aten.bitwise_xor.Scalar, aten.__and__.Scalar, aten.__or__.Scalar,
               aten.__xor__.Scalar, aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_right_shift.Tensor_Scalar,
               aten.__lshift__.Scalar, aten.__rshift__.Scalar):
        add(op, ints(20, low=0), 3)
        add(op, ints(20, low=0, dtype=torch.uint8), 1)
    for op in (aten.__and__.Tensor, aten.__or__.Tensor, aten.__xor__.Tensor, aten.__lshift__.Tensor, aten.__rshift__.Tensor):
        add(op, ints(20, low=0), ints(20, low=0))
    for op in (aten.__and__.Tensor, aten.__or__.Tensor, aten.__xor__.Tensor):
        add(op, ints(20) > 0, ints(20) > 0)
    a, b = floats(torch.float32, 6, 6), floats(torch.float32, 6).flip(0)
    mask = torch.rand(6, 6) > 0.5
    for dtype in FLOATS:
        x, y = floats(dtype, 6, 6), floats(dtype, 6, 1)
        add(aten.where.ScalarOther, mask, x, 2.0)
        add(aten.where.ScalarSelf, mask, 2, x)
        add(aten.max.other, x, y)
        add(aten.min.other, x, y)
        add(aten.rsub.Tensor, x, y, alpha=2)
        add(aten.floor_divide, finite(dtype, 6, 6), finite(dtype, 6))
        add(aten.true_divide.Tensor, x, y)
        for op in (aten.square, aten.frac, aten.isfinite, aten.isposinf, aten.isneginf, aten.sgn, aten.nan_to_num, aten.logit, aten.sinc,
                   aten.deg2rad, aten.rad2deg):
            for z in layouts(x):
                add(op, z)
        add(aten.nan_to_num, x, 1.0, 2.0, -3.0)
        add(aten.logit, torch.rand(6, 6).to(dtype), 0.1)
        for low, high in ((-1, 1.5), (None, 2), (-0.5, None), (2, 1), (math.nan, 1.0), (-math.inf, 1)):
            add(aten.clamp, x, low, high)
        add(aten.clamp.Tensor, x, y, None)
        add(aten.clamp.Tensor, x, y, floats(dtype, 6))
        add(aten.clamp_min, x, 0.5)
        add(aten.clamp_max, x, 0.5)
        add(aten.clamp_min.Tensor, x, y)
        add(aten.clamp_max.Tensor, x, y)
        add(aten.masked_fill.Scalar, x, mask, -math.inf)
        add(aten.masked_fill.Scalar, x, mask[0], 3)
        add(aten.masked_fill.Tensor, x, mask, torch.tensor(2.5))
        add(aten.addcmul, x, y, x, value=0.5)
        add(aten.addcmul, x, y, x)
        add(aten.addcdiv, x, x, y, value=2)
        add(aten.addcdiv, x, x, y)
        add(aten.lerp.Scalar, x, x.flip(0), 0.25)
        add(aten.lerp.Scalar, x, x.flip(0), 0.75)
        add(aten.lerp.Tensor, x, x.flip(0), torch.rand(6).to(dtype))
        add(aten.heaviside, x, y)
        add(aten.xlogy.Tensor, x, y)
        add(aten.special_xlog1py, x, y)
        add(aten.logaddexp, x, y)
    add(aten.where.Scalar, mask, 2.0, 3.0)
    add(aten.clamp, ints(20), -1, 3)
    add(aten.clamp, ints(20), -1.5, 2.5)
    add(aten.clamp, ints(20, low=0, dtype=torch.uint8), 1, 3)
    add(aten.masked_fill.Scalar, ints(6), mask[0], 3)
    add(aten.masked_fill.Scalar, mask, mask[0], True)
    add(aten.addcmul, ints(6), ints(6), ints(6), value=2)
    add(aten.lerp.Scalar, a, b, 0.5)
    add(aten.square, ints(6))
    add(aten.sgn, ints(6))
    add(torch.ops.prims.isfinite, a)
    add(aten.heaviside, a, b)


def activations(add):
    for dtype in FLOATS:
        for x in layouts(floats(dtype, 7, 8)):
            for op in (aten.silu, aten.hardswish, aten.hardsigmoid, aten.relu6, aten.mish, aten.log_sigmoid_forward, aten.selu, aten.celu,
                       aten.leaky_relu, aten.elu, aten.softplus, aten.hardtanh, aten.softshrink, aten.hardshrink, aten.glu):
                add(op, x)
            add(aten.gelu, x)
            add(aten.gelu, x, approximate="tanh")
            add(aten.hardtanh, x, -2.5, 0.5)
            add(aten.celu, x, 1.5)
            add(aten.elu, x, 0.5, 1.5, 2.0)
            add(aten.leaky_relu, x, 0.2)
            add(aten.softplus, x, 2.0, 5.0)
            add(aten._prelu_kernel, x, finite(dtype, 7, 1))
            add(aten.threshold, x, 0.5, 7.0)
            add(aten.glu, x.clone(), 1)
            add(aten.rrelu_with_noise_functional, x, torch.zeros_like(x))
    add(aten.hardtanh, ints(10), -2, 2)
    add(aten.threshold, ints(10), 1, 7)
    add(aten.native_dropout, floats(torch.float32, 8), 0.5, False)


def activation_derivatives(add):
    for dtype in FLOATS:
        for i, x in enumerate(layouts(floats(dtype, 6, 8))):
            if i > 0:
                x[x.isnan()] = 1.5  # off the contiguous path eager's code for NaN differs from its vector code
            g = finite(dtype, 6, 8)
            for op in (aten.silu_backward, aten.hardswish_backward, aten.hardsigmoid_backward, aten.mish_backward, aten.tanh_backward,
                       aten.sigmoid_backward, aten.gelu_backward):
                add(op, g, x)
            add(aten.gelu_backward, g, x, approximate="tanh")
            add(aten.threshold_backward, g, x, 0.0)
            add(aten.hardtanh_backward, g, x, -1.0, 1.0)
            add(aten.leaky_relu_backward, g, x, 0.1, False)
            add(aten.elu_backward, g, 0.5, 1.5, 2.0, False, x)
            add(aten.elu_backward, g, 0.5, 1.5, 1.0, True, x)
            add(aten.softplus_backward, g, x, 2.0, 5.0)
            add(aten.log_sigmoid_backward, g, x, aten.log_sigmoid_forward(x)[1])
            add(aten._prelu_kernel_backward, g, x, finite(dtype, 6, 1))
            add(aten.softshrink_backward, g, x, 0.5)
            add(aten.hardshrink_backward, g, x, 0.5)
            add(aten.glu_backward, finite(dtype, 6, 4), x, 1)
            add(aten.logit_backward, g, torch.rand(6, 8).to(dtype), 0.1)
            add(aten.logit_backward, g, torch.rand(6, 8).to(dtype))
            add(aten.native_dropout_backward, g, torch.rand(6, 8) > 0.5, 2.0)


def softmaxes(add):
    for dtype in FLOATS:
        x = finite(dtype, 3, 4, 5)
        for dim in (-1, 0, 1):
            for y in layouts(x):
                add(aten._softmax, y, dim, False)
                add(aten._log_softmax, y, dim, False)
                add(aten._safe_softmax, y, dim)
            add(aten._softmax_backward_data, finite(dtype, 3, 4, 5), torch.softmax(x, dim), dim, dtype)
            add(aten._log_softmax_backward_data, finite(dtype, 3, 4, 5), torch.log_softmax(x, dim), dim, dtype)
        add(aten._softmax, floats(dtype, 6, 6), 1, False)
        add(aten._log_softmax, floats(dtype, 6, 6), 1, False)
        masked = finite(dtype, 3, 4)
        masked[1] = -math.inf
        add(aten._safe_softmax, masked, 1)
        add(aten._safe_softmax, masked, 1, torch.float32)
        add(aten._softmax, masked, 1, False)
        add(aten._softmax, torch.tensor([[1e30, 3.0, -1e30]]).to(dtype) * 1e10, 1, False)
        add(aten._softmax, finite(dtype), 0, False)


def reductions(add):
    for dtype in FLOATS:
        for x in layouts(finite(dtype, 3, 4, 5)):
            for op in (aten.sum, aten.mean, aten.max, aten.min, aten.any, aten.all, aten.prod, aten.argmax, aten.argmin, aten.nansum,
                       aten.count_nonzero, aten.aminmax, aten.var, aten.std, aten.var_mean, aten.std_mean):
                add(op, x)
            for op in (aten.sum.dim_IntList, aten.mean.dim, aten.amax, aten.amin, aten.any.dims, aten.all.dims, aten.logsumexp,
                       aten.var.correction, aten.std.correction, aten.var_mean.correction, aten.std_mean.correction):
                for dims in ([1], [0, 2], [-1], [2, 0, 1]):
                    add(op, x, dims)
                    add(op, x, dims, keepdim=True)
            for op in (aten.any.dim, aten.all.dim, aten.prod.dim_int, aten.argmax, aten.argmin):
                add(op, x, -2)
                add(op, x, 1, True)
            for order in (2, 1, 0, math.inf, -math.inf, 3, 0.5):
                add(aten.linalg_vector_norm, x, order, [1], True)
                add(aten.linalg_vector_norm, x, order)
            add(aten.norm.Scalar, x, 2)
            add(aten.norm.ScalarOpt_dim, x, 2, [1])
            add(aten.norm.ScalarOpt_dtype, x, 2, dtype=torch.float64)
            add(aten.norm.ScalarOpt_dim_dtype, x, 2, [1], True, dtype=torch.float64)
            add(aten.var_mean.dim, x, [1], False)
            add(aten.std_mean.dim, x, [-1], True, True)
            add(aten.var.correction, x, [1], correction=0)
            add(aten.var.correction, x, [1, 2], correction=2, keepdim=True)
            add(aten.var.dim, x, [1], False)
            add(aten.std.dim, x, [1], True, True)
            add(aten.sum, x, dtype=torch.float64)
            add(aten.sum.dim_IntList, x, [0], dtype=torch.float64)
            add(aten.mean.dim, x, [0], dtype=torch.float32)
            add(aten.aminmax, x, dim=1)
            add(aten.count_nonzero, x, 1)
            add(aten.nansum, x, [1], True)
            add(aten.cumsum, x, 1, dtype=torch.float64)
            for narrow in (torch.int32, torch.int8, torch.bool):
                add(aten.sum.dim_IntList, x.to(narrow), [1], dtype=narrow)
                add(aten.prod.dim_int, x, 1, dtype=narrow)
                add(aten.prod, x.to(narrow), dtype=narrow)
                if narrow != torch.bool:
                    add(aten.cumsum, x, 1, dtype=narrow)
                    add(aten.cumprod, x.to(narrow), 1, dtype=narrow)
            add(aten.prod.dim_int, x, 0, dtype=torch.float64)
        add(aten.sum, finite(dtype))
        add(aten.amax, finite(dtype), [])
        add(aten.mean.dim, finite(dtype), [0])
        special = floats(dtype, 6, 6)
        add(aten.logsumexp, special, [1])
        add(aten.nansum, special, [1])
        add(aten.any.dim, special, 1)
        add(aten.max, special)
        add(aten.argmax, special)
        add(aten.trace, finite(dtype, 4, 4)) if dtype == torch.float32 else None
        add(aten.amin, finite(dtype, 3, 4))
        add(aten.all.dims, finite(dtype, 3, 4))
    for x in (ints(3, 4), ints(3, 4) > 0, ints(3, 4, low=0, dtype=torch.uint8)):
        for op in (aten.sum, aten.any, aten.all, aten.prod):
            add(op, x)
        add(aten.sum.dim_IntList, x, [1])
        add(aten.any.dims, x, [0])
        add(aten.any.dims, x, [])
        add(aten.all.dim, x, 0)
        add(aten.amax, x, [0])
        add(aten.cumsum, x, 1)
        add(aten.cumprod, x, 0)
    add(aten.sum, finite(torch.float32, 0, 3))
    add(aten.any, finite(torch.float32, 0, 3))
    add(aten.logsumexp, ints(3, 4), [1])


def normalizations(add):
    for dtype in FLOATS:
        x = finite(dtype, 2, 6, 4, 5)
        w, b = finite(dtype, 6), finite(dtype, 6)
        mean, var = finite(torch.float32, 6), torch.rand(6) + 0.5
        for weight, bias in ((w, b), (None, None), (w, None)):
            add(aten.native_group_norm, x, weight, bias, 2, 6, 20, 3, 1e-5)
        for y in layouts(finite(dtype, 3, 4, 8)):
            add(aten.native_layer_norm, y, [8], finite(dtype, 8), finite(dtype, 8), 1e-5)
            add(aten.native_layer_norm, y, [8], None, None, 1e-3)
            add(aten.native_layer_norm, y, [4, 8], finite(dtype, 4, 8), None, 1e-5)
            add(aten._fused_rms_norm, y, [8], finite(dtype, 8), 1e-5)
            add(aten._fused_rms_norm, y, [4, 8], None, None)
        for dim in (0, 2):  # contiguous: eager reads every v as if it were
            v, g = finite(dtype, 3, 4, 8), finite(dtype, *[(3, 1, 1), None, (1, 1, 8)][dim])
            scaled, norms = aten._weight_norm_interface(v, g, dim)
            add(aten._weight_norm_interface, v, g, dim)
            add(aten._weight_norm_interface_backward, scaled, v, g, norms, dim)
        if dtype != torch.float16:
            stats = (mean.to(dtype), var.to(dtype))
            for z in (x, x.contiguous(memory_format=torch.channels_last), finite(dtype, 8, 6)):
                add(aten._native_batch_norm_legit_no_training, z, w, b, *stats, 0.1, 1e-5)
                add(aten._native_batch_norm_legit_no_training, z, None, None, *stats, 0.1, 1e-3)
                add(aten.native_batch_norm, z, w, b, *stats, False, 0.1, 1e-5)
                add(aten.native_batch_norm, z, w, b, None, None, True, 0.1, 1e-5)
                add(getattr(aten._native_batch_norm_legit, "no_stats"), z, w, b, True, 0.1, 1e-5)
                add(aten._native_batch_norm_legit_functional, z, w, b, *stats, True, 0.1, 1e-5)
                add(aten._native_batch_norm_legit_functional, z, w, b, *stats, False, 0.1, 1e-5)
                add(aten._batch_norm_with_update_functional, z, w, b, *stats, 0.1, 1e-5)
                add(aten._batch_norm_no_update, z, w, b, *stats, 0.1, 1e-5)
        if dtype == torch.bfloat16:
            add(aten._native_batch_norm_legit_no_training, x, w.float(), b.float(), mean, var, 0.1, 1e-5)
            add(aten.native_layer_norm, finite(dtype, 3, 8), [8], finite(torch.float32, 8), finite(torch.float32, 8), 1e-5)
            add(aten.native_group_norm, x, w.float(), b.float(), 2, 6, 20, 3, 1e-5)


def normalization_derivatives(add):
    for dtype in (torch.float32, torch.bfloat16):
        x, g = finite(dtype, 3, 4, 8), finite(dtype, 3, 4, 8)
        for shape, weight in (([8], finite(dtype, 8)), ([8], None), ([4, 8], finite(dtype, 4, 8)), ([3, 4, 8], finite(dtype, 3, 4, 8))):
            _, mean, rstd = aten.native_layer_norm(x, shape, weight, None, 1e-5)
            bias = None if weight is None else weight.clone()
            add(aten.native_layer_norm_backward, g, x, shape, mean, rstd, weight, bias, [True, weight is not None, bias is not None])
            add(aten.native_layer_norm_backward, g, x, shape, mean, rstd, weight, bias, [True, False, False])
        if dtype == torch.float32:
            _, rstd = aten._fused_rms_norm(x, [8], finite(dtype, 8), 1e-5)
        x, g, w = finite(dtype, 2, 6, 4, 5), finite(dtype, 2, 6, 4, 5), finite(dtype, 6)
        _, mean, rstd = aten.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5)
        for mask in ([True, True, True], [True, False, False], [False, True, True]):
            add(aten.native_batch_norm_backward, g, x, w, None, None, mean, rstd, True, 1e-5, mask)
            add(aten.native_batch_norm_backward, g, x, w, w * w, w * w + 0.5, mean, rstd, False, 1e-5, mask)
        _, mean, rstd = aten.native_group_norm(x, w, w, 2, 6, 20, 3, 1e-5)
        for weight in (w, None):
            add(aten.native_group_norm_backward, g, x, mean, rstd, weight, 2, 6, 20, 3, [True, weight is not None, True])


def views(add):
    x = finite(torch.float32, 2, 3, 4)
    for y in layouts(x):
        add(aten.transpose.int, y, 0, -1)
        add(aten.detach, y)
        add(aten.split.Tensor, y, 2, -1)
        add(aten.split.Tensor, y, 3, 2)
        add(aten.split_with_sizes, y, [1, 3], 2)
        add(aten.unbind.int, y, 1)
        add(aten.narrow, y, 2, 1, 2)
        add(aten.squeeze, y[:, :1])
        add(aten.squeeze.dim, y[:, :1], 1)
        add(aten.squeeze.dim, y, 1)
        add(aten.t, y[0])
    add(aten.t, x[0, 0])
    add(torch.ops.prims.squeeze, x[:, :1], [1])
    add(aten.view, x, [6, -1])
    add(aten.view, x, [2, 3, 4])
    add(aten._unsafe_view, x, [4, 6])
    add(aten._reshape_alias, x, [6, 4], [4, 1])
    add(aten.transpose.int, finite(torch.float32), 0, -1)
    add(aten.squeeze, finite(torch.float32, 1, 1))


def movement(add):
    for dtype in (torch.float32, torch.int64, torch.bool):
        x = finite(torch.float32, 2, 3, 4).to(dtype)
        add(aten.stack, [x, x], 1)
        add(aten.stack, [x, x, x], -1)
        add(aten.repeat, x, [2, 1, 3])
        add(aten.repeat, x, [2, 2, 1, 1])
        add(aten.repeat_interleave.self_int, x, 3)
        add(aten.repeat_interleave.self_int, x, 2, 1)
        add(aten.roll, x, [3])
        add(aten.index_select, x, 1, torch.tensor([2, 0, 0, 1]))
        add(aten.index_select, x, 2, torch.tensor(1))
        add(aten.take, x, torch.tensor([[0, 5], [23, 1]]))
        for diagonal in (0, 1, -2):
            add(aten.tril, x, diagonal)
            add(aten.triu, x, diagonal)
        add(aten.diag_embed, x, 1)
        add(aten.diag_embed, x, 0, 0, 2)
        add(aten.index_copy, x, 1, torch.tensor([2, 0]), x[:, :2].clone())
        add(aten.index_fill.int_Scalar, x, 1, torch.tensor([2, 0]), 1)
        add(aten.index_fill.int_Tensor, x, 1, torch.tensor([2, 0]), torch.tensor(1).to(dtype))
        add(aten.channel_shuffle, torch.arange(48.0).to(dtype).view(2, 6, 2, 2), 3)
    x = finite(torch.float32, 2, 3, 4)
    for dtype in FLOATS:
        add(aten.index_add, x.to(dtype), 1, torch.tensor([2, 0, 2]), finite(dtype, 2, 3, 4), alpha=2)
        add(aten.index_add, x.to(dtype), 2, torch.tensor([3]), finite(dtype, 2, 3, 1))
        p = finite(dtype, 2, 8, 4, 6)
        add(aten.pixel_shuffle, p, 2)
        add(aten.pixel_unshuffle, p, 2)
        for op, op_backward, pad, shape in (
                (aten.reflection_pad1d, aten.reflection_pad1d_backward, [2, 1], (2, 3, 4)),
                (aten.reflection_pad2d, aten.reflection_pad2d_backward, [1, 2, 3, 0], (2, 3, 4, 4)),
                (aten.replication_pad1d, aten.replication_pad1d_backward, [2, 1], (2, 3, 4)),
                (aten.replication_pad2d, aten.replication_pad2d_backward, [1, 2, 3, 0], (2, 3, 4, 4)),
                (aten.replication_pad3d, aten.replication_pad3d_backward, [1, 2, 3, 0, 1, 1], (2, 3, 4, 4, 2)),
                (aten.reflection_pad3d, aten.reflection_pad3d_backward, [1, 2, 1, 0, 1, 1], (2, 3, 3, 4, 3))):
            y = finite(dtype, *shape)
            add(op, y, pad)
            if dtype == torch.float32:
                add(op_backward, torch.randn_like(op(y, pad)), y, pad)


def factories(add):
    x = finite(torch.float32, 3, 4)
    cpu = dict(device=torch.device("cpu"))
    add(aten._efficientzerotensor, [3, 4])
    for op in (aten.zeros, aten.ones):
        for dtype in (torch.float32, torch.int64, torch.bool, None):
            add(op, [2, 3], dtype=dtype, **cpu)
    for op in (aten.zeros_like, aten.ones_like):
        add(op, x)
        add(op, x.t())
        add(op, x, dtype=torch.int64)
    add(aten.full_like, x, 2)
    add(aten.full_like, ints(3), 2)
    add(aten.new_zeros, x, [5])
    add(aten.new_ones, x, [5], dtype=torch.bool)
    add(aten.new_full, x, [2, 2], 7)
    add(aten.scalar_tensor, 3, dtype=torch.float32)
    add(aten.scalar_tensor, -math.inf, dtype=torch.bfloat16)
    add(aten.scalar_tensor, True, dtype=torch.bool)
    add(torch.ops.prims.scalar_tensor, 2.5, dtype=torch.float32, **cpu)
    add(torch.ops.prims.full_like, x, 2, dtype=torch.int64, requires_grad=False, **cpu)
    for args in ((5,), (2.5,)):
        add(aten.arange, *args, **cpu)
    add(aten.arange.start, 2, 9, **cpu)
    add(aten.arange.start, 2, 9, dtype=torch.float32, **cpu)
    add(aten.arange.start_step, 2, 20, 3, **cpu)
    add(aten.arange.start_step, 10, 0, -3, dtype=torch.int32, **cpu)
    add(aten.arange.start_step, 0.5, 3.0, 0.25, **cpu)
    add(aten.arange.start_step, 0, 1, 0.1, dtype=torch.float64, **cpu)
    add(aten.arange.start_step, 5, -5, -1.0, dtype=torch.int64, **cpu)
    add(aten.arange.start_step, 0.7, 9.9, 2.5, dtype=torch.int32, **cpu)
    add(aten.eye, 4, **cpu)
    add(aten.eye.m, 3, 5, dtype=torch.int64, **cpu)
    for steps in (1, 2, 5, 8):
        add(aten.linspace, -1, 2.5, steps, **cpu)
        add(aten.linspace, 0, 10, steps, dtype=torch.float64, **cpu)


def index_derivatives(add):
    for dtype in (torch.float32, torch.bfloat16):
        add(aten.slice_backward, finite(dtype, 3, 2), [3, 6], 1, 1, 5, 2)
        add(aten.slice_backward, finite(dtype, 2, 6), [3, 6], 0, 1, 9223372036854775807, 1)
        add(aten.select_backward, finite(dtype, 3), [3, 6], 1, -2)
        add(aten.diagonal_backward, finite(dtype, 3), [3, 4], 1, 0, 1)
        add(aten.embedding_dense_backward, finite(dtype, 2, 5, 4), ints(2, 5, low=0, high=7), 7, -1, False)
        add(aten.embedding_dense_backward, finite(dtype, 2, 5, 4), ints(2, 5, low=0, high=7), 7, 2, False)


def losses(add):
    for dtype in (torch.float32, torch.bfloat16):
        x, y = finite(dtype, 4, 5), finite(dtype, 4, 5)
        for reduction in (0, 1, 2):
            g = finite(dtype, 4, 5) if reduction == 0 else finite(dtype)
            add(aten.mse_loss, x, y, reduction)
            add(aten.mse_loss_backward, g, x, y, reduction)
            for beta in (1.0, 0.3):
                add(aten.smooth_l1_loss, x, y, reduction, beta)
                add(aten.smooth_l1_loss_backward, g, x, y, reduction, beta)
                add(aten.huber_loss, x, y, reduction, beta)
                add(aten.huber_loss_backward, g, x, y, reduction, beta)
            add(aten.soft_margin_loss, x, y, reduction)
            add(aten.binary_cross_entropy_with_logits, x, torch.rand(4, 5).to(dtype), None, None, reduction)
            add(aten.binary_cross_entropy_with_logits, x, torch.rand(4, 5).to(dtype), torch.rand(5).to(dtype), torch.rand(5).to(dtype), reduction)
            p = torch.rand(4, 5).to(dtype)
            add(aten.binary_cross_entropy_backward, g, p, torch.rand(4, 5).to(dtype), None, reduction)
            logs, target = torch.log_softmax(x, 1), torch.tensor([0, 4, -100, 2])
            for weight in (None, torch.rand(5).to(dtype)):
                add(aten.nll_loss_forward, logs, target, weight, reduction, -100)
                total = aten.nll_loss_forward(logs, target, weight, reduction, -100)[1]
                grad = finite(dtype, 4) if reduction == 0 else finite(dtype)
                add(aten.nll_loss_backward, grad, logs, target, weight, reduction, -100, total)
            add(aten.nll_loss_forward, logs[0], target[0], None, reduction, -100)
        maps = torch.log_softmax(finite(dtype, 2, 5, 3, 3), 1)
        classes = ints(2, 3, 3, low=0, high=5)
        for reduction in (0, 1, 2):
            out, total = aten.nll_loss2d_forward(maps, classes, None, reduction, 1)
            add(aten.nll_loss2d_forward, maps, classes, None, reduction, 1)
            add(aten.nll_loss2d_backward, torch.randn_like(out), maps, classes, None, reduction, 1, total)


def pools(add):
    for dtype in FLOATS:
        x = finite(dtype, 2, 3, 8, 12)
        for size in ([1, 1], [4, 3], [2, 12]):
            add(aten._adaptive_avg_pool2d, x, size)
            add(aten._adaptive_avg_pool2d_backward, finite(dtype, 2, 3, *size), x)
            add(aten.adaptive_max_pool2d, x, size)
        add(aten._adaptive_avg_pool2d, x.contiguous(memory_format=torch.channels_last), [2, 3])
        for kernel, stride, padding in (([3, 3], [2, 2], [1, 1]), ([2, 3], [2, 3], [0, 0]), ([3, 2], [1, 2], [1, 0])):
            for ceil_mode in (False, True):
                y, indices = aten.max_pool2d_with_indices(x, kernel, stride, padding, [1, 1], ceil_mode)
                if dtype != torch.float16:
                    add(aten.max_pool2d_with_indices_backward, torch.randn_like(y), x, kernel, stride, padding, [1, 1], ceil_mode, indices)
                for include_pad, divisor in ((True, None), (False, None), (True, 5)):
                    y = aten.avg_pool2d(x, kernel, stride, padding, ceil_mode, include_pad, divisor)
                    add(aten.avg_pool2d_backward, torch.randn_like(y), x, kernel, stride, padding, ceil_mode, include_pad, divisor)


def upsampling(add):
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        x1, x2, x3 = finite(dtype, 2, 3, 7), finite(dtype, 2, 3, 5, 7), finite(dtype, 1, 2, 3, 4, 5)
        for op in (aten.upsample_nearest1d.vec, aten._upsample_nearest_exact1d.vec):
            add(op, x1, [13], None)
            add(op, x1, None, [1.7])
        for op in (aten.upsample_nearest2d.vec, aten._upsample_nearest_exact2d.vec):
            add(op, x2, [10, 14], None)
            add(op, x2, [8, 3], None)
            add(op, x2, None, [2.3, 1.4])
        add(aten.upsample_nearest2d, x2, [11, 9], 2.2, 1.3)
        for op in (aten.upsample_nearest1d, aten._upsample_nearest_exact1d):
            add(op, x1, [13])
            add(op, x1, [11], 1.7)
        add(aten._upsample_nearest_exact2d, x2, [11, 9], 2.2, 1.3)
        for op in (aten.upsample_nearest3d, aten._upsample_nearest_exact3d):
            add(op, x3, [6, 5, 4], 2.0, 1.3, None)
        for op in (aten.upsample_nearest3d.vec, aten._upsample_nearest_exact3d.vec):
            add(op, x3, [6, 7, 4], None)
        for align in (False, True):
            add(aten.upsample_linear1d.vec, x1, [13], align, None)
            add(aten.upsample_bilinear2d.vec, x2, [10, 9], align, None)
            add(aten.upsample_bilinear2d.vec, x2, None, align, [2.3, 1.4])
            add(aten.upsample_bilinear2d, x2, [1, 3], align)
            add(aten.upsample_linear1d, x1, [12], align, 1.75)
            add(aten.upsample_trilinear3d, x3, [6, 5, 4], align)
            add(aten.upsample_bicubic2d, x2, [9, 13], align)
            add(aten.upsample_trilinear3d.vec, x3, [6, 7, 4], align, None)
            add(aten.upsample_bicubic2d.vec, x2, [10, 9], align, None)
            add(aten.upsample_bicubic2d.vec, x2, None, align, [2.3, 1.4])
            if dtype != torch.bfloat16:
                add(aten.upsample_bilinear2d_backward, finite(dtype, 2, 3, 10, 9), [10, 9], [2, 3, 5, 7], align, None, None)
        add(aten.upsample_nearest2d_backward, finite(dtype, 2, 3, 10, 14), [10, 14], [2, 3, 5, 7], None, None)
        add(aten.upsample_nearest2d_backward, finite(dtype, 2, 3, 11, 9), [11, 9], [2, 3, 5, 7], 2.2, 1.3)
        add(aten._upsample_nearest_exact2d_backward, finite(dtype, 2, 3, 11, 9), [11, 9], [2, 3, 5, 7], None, None)
        add(aten.upsample_nearest1d_backward, finite(dtype, 2, 3, 13), [13], [2, 3, 7], None)
        add(aten.upsample_nearest3d_backward, finite(dtype, 1, 2, 6, 7, 4), [6, 7, 4], [1, 2, 3, 4, 5], None, None, None)


def casts(add):
    x = floats(torch.float32, 3, 6)
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.float32, torch.bool):
        for y in layouts(x):
            add(aten._to_copy, y, dtype=dtype)
    add(aten._to_copy, ints(4), dtype=torch.float32)
    add(aten.copy, x, finite(torch.float32, 6))
    add(aten.copy, x, finite(torch.bfloat16, 3, 6))
    add(aten.lift_fresh_copy, x)
