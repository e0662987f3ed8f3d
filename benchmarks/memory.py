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


def peaks(calls: dict, inputs: dict) -> dict:
    """Peak bytes of a call of each of `calls` (warm, `eager` among them), and how many times eager's that is."""
    found = {name: min(peak_bytes(lambda: call(**inputs)) for _ in range(2)) for name, call in calls.items()}
    return {"peak_bytes": found, "over_eager": {n: p / found["eager"] for n, p in found.items() if n != "eager"}}


def measure(model: str, dtype: str, backends: list[str]) -> dict:
    """Peak bytes of a call of each of `backends` and of eager, after two calls to warm up."""
    module, inputs = cast(*build(model), getattr(torch, dtype))
    with torch.no_grad():
        calls = {name: compile_with(name, module) for name in ["eager", *(b for b in backends if b != "eager")]}
        for call in calls.values():
            for _ in range(2):
                call(**inputs)
        return peaks(calls, inputs)
