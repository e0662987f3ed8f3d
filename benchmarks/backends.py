"""The compilers that a measurement may ask for, by name."""
from __future__ import annotations

import importlib.util
import os
import tempfile
from typing import Any, Callable

import torch


def available(backend: str) -> bool:
    """Whether `backend` can run here: Litz has to be installed, the others come with torch."""
    return backend != "litz" or importlib.util.find_spec("litz") is not None


def compile_with(backend: str, function: Callable, *, dynamic: bool | None = None) -> Callable:
    """`function` compiled by `backend`; `eager` gives it back, `nothing` captures and returns the first input."""
    if backend == "eager":
        return function
    if backend == "nothing":
        return torch.compile(function, backend=lambda module, inputs: lambda *arguments: arguments[:1], dynamic=dynamic)
    return torch.compile(function, backend=backend, dynamic=dynamic)


def use_empty_caches() -> None:
    """Gives this process caches of its own, empty: call it before the first compile."""
    folder = tempfile.mkdtemp(prefix="litz-bench-")
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=folder, TORCHINDUCTOR_FX_GRAPH_CACHE="0", TORCHINDUCTOR_AUTOGRAD_CACHE="0",
        XDG_CACHE_HOME=folder)


def litz_report() -> dict[str, Any]:
    """What Litz did in its last compile: kernels, library_calls, extern_calls, fallbacks, bytes_read, bytes_written, stage_ms."""
    import litz

    report = litz.last_report()
    return {"fallbacks": [], **report, "stage_ms": dict(report["stage_ms"])}
