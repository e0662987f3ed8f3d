"""Seconds from `torch.compile` to the first result, in a process that has compiled nothing, with empty caches."""
from __future__ import annotations

import time

from benchmarks.backends import compile_with, litz_report, use_empty_caches


def measure(model: str, dtype: str, backend: str) -> dict:
    """One first call. The bench repeats this in fresh processes and takes the median.

    Eager runs once before the clock starts: what the model's own first call costs (loading libraries, paging weights
    in) is no compile time.
    """
    use_empty_caches()
    import torch

    from benchmarks.models import build, cast

    module, inputs = cast(*build(model), getattr(torch, dtype))
    with torch.no_grad():
        module(**inputs)
        start = time.perf_counter()
        compiled = compile_with(backend, module)
        compiled(**inputs)
        seconds = time.perf_counter() - start
    row: dict = {"seconds": seconds}
    if backend == "litz":
        row["stage_ms"] = litz_report()["stage_ms"]
    return row
