"""What litz._C needs of torch: types, numbers and functions, given to it once per process."""

import itertools
import os

import torch
import torch.fx

from litz import _C

# PyTorch's ScalarType numbers (c10/core/ScalarType.h); they are part of its C interface.
DTYPE_CODES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.float64: 7,
    torch.complex32: 8, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15, torch.float8_e5m2: 23,
    torch.float8_e4m3fn: 24, torch.float8_e5m2fnuz: 25, torch.float8_e4m3fnuz: 26, torch.uint16: 27, torch.uint32: 28, torch.uint64: 29,
}  # fmt: skip
MEMORY_FORMAT_CODES = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3}
LAYOUT_NAMES = {
    torch.strided: "strided", torch.sparse_coo: "sparse_coo", torch.sparse_csr: "sparse_csr", torch.sparse_csc: "sparse_csc",
    torch.sparse_bsr: "sparse_bsr", torch.sparse_bsc: "sparse_bsc", torch._mkldnn: "mkldnn", torch.jagged: "jagged",
}  # fmt: skip
DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}
MEMORY_FORMATS = {code: memory_format for memory_format, code in MEMORY_FORMAT_CODES.items()}

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "hpu", "mps", "xla", "privateuseone")

# Calls of the graph that are no op of torch.ops with a schema (higher-order ops, Python objects as arguments): op name -> function of
# the tensors and integers that the call reads. Entries live from export to the end of the compile.
_opaque = {}
_opaque_numbers = itertools.count()
OPAQUE_NAMESPACE = "litz_python"


def register_opaque(stem, function):
    """The name of a new op that calls `function`."""
    name = f"{stem}_{next(_opaque_numbers)}"
    _opaque[f"{OPAQUE_NAMESPACE}.{name}"] = function
    return name


def forget_opaque(names):
    for name in names:
        _opaque.pop(f"{OPAQUE_NAMESPACE}.{name}", None)


def op_of(name):
    """ "aten.add.Tensor" -> torch.ops.aten.add.Tensor; an overload named default is left out of the name."""
    namespace, rest = name.split(".", 1)
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def resolve_op(name, schema):
    """How to call an op: (callable, number of positional arguments, names of the others, every argument's type)."""
    if name in _opaque:
        count = schema.split("->")[0].count(",") + (0 if "()" in schema.split("->")[0] else 1)
        return _opaque[name], count, (), ("",) * count
    op = op_of(name)
    arguments = op._schema.arguments
    keywords = tuple(a.name for a in arguments if a.kwarg_only)
    return op._op, len(arguments) - len(keywords), keywords, tuple(_type_text(a) for a in arguments)


def _type_text(argument):
    return str(argument.real_type).replace("Optional[", "").rstrip("]")


def _autocast_suspend():
    """Switches autocast off for every device type; the token says where it was on."""
    token = 0
    for bit, device in enumerate(_AUTOCAST_DEVICES):
        if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
            torch.set_autocast_enabled(device, False)
            token |= 1 << bit
    return token


def _autocast_restore(token):
    for bit, device in enumerate(_AUTOCAST_DEVICES):
        if token & 1 << bit:
            torch.set_autocast_enabled(device, True)


def _keep_constant(constants, tensor, dtype, sizes, strides):
    """Puts what an op made of constants into their list, laid out as the graph expects it: its place, or -1 where it is another tensor."""
    if tuple(tensor.shape) != sizes or DTYPE_CODES.get(tensor.dtype) != dtype:
        return -1
    if tensor.layout is torch.strided and (tensor.stride() != strides or tensor.is_conj() or tensor.is_neg()):
        made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device)
        tensor = made.copy_(tensor)
    constants.append(tensor)
    return len(constants) - 1


def _library(name):
    return os.path.join(os.path.dirname(torch.__file__), "lib", name)


def initialise():
    aoti = torch._C._aoti
    _C.initialise(
        dict(
            tensor_type=torch.Tensor,
            parameter_type=torch.nn.Parameter,
            node_type=torch.fx.Node,
            device_type=torch.device,
            dtype_codes=DTYPE_CODES,
            memory_format_codes=MEMORY_FORMAT_CODES,
            layout_names=LAYOUT_NAMES,
            dtypes=DTYPES,
            memory_formats=MEMORY_FORMATS,
            layouts={name: layout for layout, name in LAYOUT_NAMES.items()},
            resolve_op=resolve_op,
            is_any_autocast_enabled=torch._C._is_any_autocast_enabled,
            autocast_suspend=_autocast_suspend,
            autocast_restore=_autocast_restore,
            set_eval_frame=torch._C._dynamo.eval_frame.set_eval_frame,
            keep_constant=_keep_constant,
            handle_of_tensor=aoti.unsafe_alloc_void_ptr_from_tensor if hasattr(aoti, "unsafe_alloc_void_ptr_from_tensor") else _no_handles,
            tensor_of_handle=aoti.alloc_tensor_by_stealing_from_void_ptr,
            dlpack_api=torch.Tensor.__dlpack_c_exchange_api__,
            libtorch_cpu=_library("libtorch_cpu.so"),
            libtorch_python=_library("libtorch_python.so"),
        )
    )


def _no_handles(tensor):
    raise RuntimeError("this torch gives no handle of a tensor to C: litz needs torch 2.11 or newer")


initialise()
