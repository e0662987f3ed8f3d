"""How AOTAutograd traces for Litz: the decompositions that torch keeps in Python and applies unasked are left out where Litz has the op
itself, or where they do not compute what eager computes (sizes and checks of the upsampling ops)."""

import contextlib
import functools

import torch
from torch._C import DispatchKey

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


@contextlib.contextmanager
def native_ops():
    """Dynamo compiles one graph at a time, so nobody else sees the ops without their Python kernels."""
    removed = []
    for op in _native_ops():
        for key in _KEYS:
            if key in op.py_kernels:
                removed.append((op, key, op.py_kernels.pop(key)))
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, key, kernel in removed:
            op.py_kernels[key] = kernel
            op._dispatch_cache.clear()
