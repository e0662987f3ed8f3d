"""Steady-state time of a call: every compiler in one process, turn by turn, medians."""
from __future__ import annotations

import statistics
import time

import torch

from benchmarks.backends import compile_with
from benchmarks.memory import peaks
from benchmarks.models import build, cast


def measure(model: str, dtype: str, backends: list[str], seconds: float = 15.0, least: int = 5, most: int = 60,
            memory: bool = False) -> dict:
    """Median milliseconds of each of `backends`; rounds go on for about `seconds`. With `memory`, peaks of a call too.

    A round runs each compiler once. The order turns from round to round, so that none always follows the same one.
    """
    module, inputs = cast(*build(model), getattr(torch, dtype))
    names = ["eager", *(b for b in backends if b != "eager")]
    calls, failed = {}, {}
    with torch.no_grad():
        for name in names:
            try:
                calls[name] = compile_with(name, module)
                for _ in range(3):
                    calls[name](**inputs)
            except Exception as error:  # a compiler that fails is a row of the table, not the end of the run
                failed[name] = f"{type(error).__name__}: {error}"[:300]
                calls.pop(name, None)
        times: dict[str, list[float]] = {name: [] for name in calls}
        end, rounds = time.monotonic() + seconds, 0
        while rounds < least or (time.monotonic() < end and rounds < most):
            order = list(calls)
            order = order[rounds % len(order):] + order[:rounds % len(order)]
            for name in order:
                start = time.perf_counter()
                calls[name](**inputs)
                times[name].append(time.perf_counter() - start)
            rounds += 1
        peak = peaks(calls, inputs) if memory else None
    medians = {name: statistics.median(t) * 1e3 for name, t in times.items()}
    return {
        "ms": medians,
        "speedup": {name: medians["eager"] / ms for name, ms in medians.items() if name != "eager"},
        "quartiles_ms": {n: [1e3 * q for q in statistics.quantiles(t, n=4)[::2]] for n, t in times.items()},
        "least_ms": {n: 1e3 * min(t) for n, t in times.items()}, "rounds": rounds, "failed": failed, "threads": torch.get_num_threads(),
        **({"memory": peak} if peak else {}),
    }
