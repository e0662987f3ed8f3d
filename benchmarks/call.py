"""What one call of a compiled one-kernel graph costs, beside a backend that does nothing."""
from __future__ import annotations

import statistics
import time

import torch

from benchmarks.backends import compile_with


def _function(name: str):
    """`x + 1` as a code object of its own: Dynamo keeps its caches by code object."""
    scope: dict = {}
    exec(f"def add_one_{name}(x):\n    return x + 1\n", scope)
    return scope[f"add_one_{name}"]


def measure(backends: list[str], rounds: int = 300, calls: int = 500) -> dict:
    """The least over `rounds`, taken turn by turn, of the microseconds of a call on eight float32 values.

    Rounds are short (a few milliseconds) and the least counts: other work on the machine can only add.
    """
    x = torch.randn(8)
    names = ["eager", "nothing", *(b for b in backends if b not in ("eager", "nothing"))]
    with torch.no_grad():
        functions = {name: compile_with(name, _function(name)) for name in names}
        for function in functions.values():
            for _ in range(1000):
                function(x)
        times: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(rounds):
            for name, function in functions.items():
                start = time.perf_counter()
                for _ in range(calls):
                    function(x)
                times[name].append((time.perf_counter() - start) / calls * 1e6)
    least = {name: min(t) for name, t in times.items()}
    return {
        "us": least, "over_nothing_us": {n: us - least["nothing"] for n, us in least.items() if n != "nothing"},
        "median_us": {name: statistics.median(t) for name, t in times.items()},
    }
