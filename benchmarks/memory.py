"""Peak memory of one call, from the memory events of `torch.profiler`."""
from __future__ import annotations

import gc

import torch

from benchmarks.backends import compile_with
from benchmarks.models import build, cast


def peak_bytes(call) -> int:
    """The most bytes that the allocations made during `call` hold at one time, its results included."""
    gc.collect()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = call()
    del result
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def measure(model: str, dtype: str, backends: list[str]) -> dict:
    """Peak bytes of a call of each of `backends` and of eager, after two calls to warm up."""
    module, inputs = cast(*build(model), getattr(torch, dtype))
    peaks = {}
    with torch.no_grad():
        for name in ["eager", *(b for b in backends if b != "eager")]:
            compiled = compile_with(name, module)
            for _ in range(2):
                compiled(**inputs)
            peaks[name] = min(peak_bytes(lambda: compiled(**inputs)) for _ in range(2))
    return {"peak_bytes": peaks, "over_eager": {n: p / peaks["eager"] for n, p in peaks.items() if n != "eager"}}
