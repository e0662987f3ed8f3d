"""The reference that errors are measured against: the same model with the same weights, computed in float64."""
from __future__ import annotations

import copy

import torch
from torch.overrides import TorchFunctionMode

_NARROW = (torch.float32, torch.bfloat16, torch.float16)


class _InFloat64(TorchFunctionMode):
    """Turns each floating-point dtype that a model names (a cast around a norm, a mask's dtype) into float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()
        widen = lambda value: torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value
        return function(*map(widen, args), **{k: widen(v) for k, v in (kwargs or {}).items()})


def run_in_float64(module: torch.nn.Module, inputs: dict[str, torch.Tensor]):
    """The result of `module` on `inputs`, both widened to float64 (copies: neither changes), under no_grad."""
    wide = copy.deepcopy(module).double()
    wide_inputs = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
    with torch.no_grad(), _InFloat64():
        return wide(**wide_inputs)


def relative_error(value: torch.Tensor, reference: torch.Tensor) -> float:
    """L2 norm of the difference over the L2 norm of `reference`; nan where they are nan in different places."""
    value, reference = value.double(), reference.double()
    if not torch.equal(value.isnan(), reference.isnan()):
        return float("nan")
    scale = reference.norm().item()
    difference = (value - reference).norm().item()
    return difference / scale if scale else difference


def half_ulp(dtype: torch.dtype) -> float:
    """The relative error that rounding to `dtype` alone may cause."""
    return torch.finfo(dtype).eps / 2
