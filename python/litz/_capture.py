"""How AOTAutograd traces for Litz: the decompositions that torch keeps in Python and applies unasked are left out where Litz has the op
itself, or where they do not compute what eager computes (sizes and checks of the upsampling ops). Attention keeps its fused kernels
where only the strides of the mask stand against them."""

import contextlib
import functools

import torch
from torch._C import DispatchKey
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental.symbolic_shapes import statically_known_true

_KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)


@functools.cache
def _native_ops():
    found = []
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith(("aten::upsample_", "aten::_upsample_")):
            packet, _, overload = name[6:].partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            if any(key in op.py_kernels for key in _KEYS):
                found.append(op)
    return found


def _times(size, factor):
    return size * int(factor) if factor.is_integer() else torch.sym_int(size * factor)


def _with_sizes(op, x, output_size, *rest):
    """An upsampling op that is told sizes or factors, as the op that is told both: torch's own rewriting of the one into the other in C++
    knows no symbolic sizes. `rest`: whether corners are aligned, where the op asks, and the factors."""
    *rest, factors = rest
    if (output_size is None) == (factors is None):
        return op._op_dk(DispatchKey.CompositeImplicitAutograd, x, output_size, *rest, factors)  # to complain
    spatial = x.shape[2:]
    sizes = output_size if factors is None else [_times(n, f) for n, f in zip(spatial, factors)]
    return getattr(torch.ops.aten, op._opname).default(x, sizes, *rest, *(factors or [None] * len(spatial)))


@functools.cache
def _gradients():
    """Gradients of upsampling whose shapes torch gives in C++ alone, which knows no symbolic sizes."""
    ops = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith(("aten::upsample_", "aten::_upsample_")) and name.endswith("_backward")]
    return [getattr(torch.ops.aten, name[6:]).default for name in ops if "_aa_" not in name and "nearest2d" not in name and "exact2d" not in name]


def _gradient_of_sizes(fake_mode, op, grad, output_size, input_size, *rest):
    if all(type(n) is int for n in (*grad.shape, *output_size, *input_size)):
        return NotImplemented
    with fake_mode:
        return torch.empty(input_size, dtype=grad.dtype, device=grad.device, memory_format=suggest_memory_format(grad))


_ATTENTION = torch.ops.aten.scaled_dot_product_attention.default


def _attention(query, key, value, attn_mask=None, *rest, **named):
    """Every fused attention asks for masks whose rows are dense. A mask that is expanded along its rows, or permuted, would send the call
    to the path of matrix products and a softmax, which costs many times the copy of the mask."""
    if attn_mask is not None and attn_mask.dim() > 0:
        if statically_known_true(attn_mask.stride(-1) != 1) and statically_known_true(attn_mask.size(-1) != 1):
            attn_mask = _with_dense_rows(attn_mask)
    return _ATTENTION._op_dk(DispatchKey.CompositeImplicitAutograd, query, key, value, attn_mask, *rest, **named)


def _with_dense_rows(mask):
    small = mask
    for dim in range(mask.dim() - 1):
        if statically_known_true(mask.stride(dim) == 0) and statically_known_true(mask.size(dim) > 1):
            small = small.narrow(dim, 0, 1)  # an expanded dimension stays one
    return small.clone(memory_format=torch.contiguous_format).expand(mask.shape)


@contextlib.contextmanager
def native_ops():
    """Dynamo compiles one graph at a time, so nobody else sees the ops without their Python kernels, and attention with one of ours."""
    removed = []
    composite = DispatchKey.CompositeImplicitAutograd
    known = _ATTENTION.py_kernels.get(composite)
    _ATTENTION.py_kernels[composite] = _attention
    _ATTENTION._dispatch_cache.clear()
    shapes = {op: op_implementations_dict.get(op) for op in _gradients()}
    op_implementations_dict.update(dict.fromkeys(shapes, _gradient_of_sizes))
    for op in _native_ops():
        for key in _KEYS:
            if key in op.py_kernels:
                removed.append((op, key, op.py_kernels.pop(key)))
        if op._overloadname == "vec":
            op.py_kernels[composite] = functools.partial(_with_sizes, op)
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, shape in shapes.items():
            if shape is None:
                del op_implementations_dict[op]
            else:
                op_implementations_dict[op] = shape
        for op in _native_ops():
            op.py_kernels.pop(composite, None)
        for op, key, kernel in removed:
            op.py_kernels[key] = kernel
            op._dispatch_cache.clear()
        if known is None:
            del _ATTENTION.py_kernels[composite]
        else:
            _ATTENTION.py_kernels[composite] = known
        _ATTENTION._dispatch_cache.clear()
