#!/usr/bin/env python3
"""Matrix products with what reads them, under mode="max-autotune", on a GPU: `python3 benchmarks/products_cuda.py --out FILE`.

Each program in bfloat16 with the bare library call (the product alone, into a buffer), eager, Litz and TorchInductor, both with
max-autotune-no-cudagraphs and then recorded as a graph, so that host time is out of it. In turns, the least time of each counts. The
error is relative to float64. A row says which candidate Litz chose.
"""
from __future__ import annotations

import argparse
import os
import sys
import time

import torch
import torch.nn.functional as F

SIZES = {"square": (4096, 4096, 4096), "up": (8192, 3072, 768), "down": (8192, 768, 3072), "head": (4096, 30528, 768)}
EPILOGUES = {
    "none": lambda x, w, b, y: F.linear(x, w, b),
    "gelu": lambda x, w, b, y: F.gelu(F.linear(x, w, b)),
    "tanh gelu": lambda x, w, b, y: F.gelu(F.linear(x, w, b), approximate="tanh"),
    "residual": lambda x, w, b, y: F.linear(x, w, b) + y,
}
CASES = [(size, epilogue) for size in SIZES for epilogue in EPILOGUES if size in ("square", "up") or epilogue != "tanh gelu"]
REPEATS, ROUNDS = 20, 6
MODE = "max-autotune-no-cudagraphs"


def seconds_of_call(f) -> float:
    start = time.perf_counter()
    f()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def recorded(f):
    for _ in range(3):
        result = f()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPEATS):
            f()
    return graph, result


def least_us(graphs: dict) -> dict:
    times = {name: float("inf") for name in graphs}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            graph.replay()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times[name] = min(times[name], begin.elapsed_time(end) * 1e3 / REPEATS)
    return times


def measure(size: str, epilogue: str, peer: bool) -> dict:
    import litz

    torch._dynamo.reset()
    rows, columns, depth = SIZES[size]
    torch.manual_seed(0)
    new = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    x, w, b, y = new(rows, depth), new(columns, depth) / depth**0.5, new(columns), new(rows, columns)
    f, out = EPILOGUES[epilogue], torch.empty_like(y)
    exact = f(x.double(), w.double(), b.double(), y.double())
    error = lambda got: ((got.double() - exact).norm() / exact.norm()).item()
    row = dict(name=f"{rows}x{columns}x{depth} {epilogue}", us={}, error={}, first_call_s={})
    calls = {"library": lambda: torch.addmm(b, x, w.t(), out=out), "eager": lambda: f(x, w, b, y)}
    for name, backend in {"litz": "litz", "inductor": "inductor"}.items() if peer else {"litz": "litz"}.items():
        compiled = torch.compile(f, backend=backend, mode=MODE)
        calls[name] = lambda compiled=compiled: compiled(x, w, b, y)
        row["first_call_s"][name] = seconds_of_call(calls[name])
        if name == "litz":
            row["chosen"] = [note for note in litz.last_report()["notes"] if note.startswith("choose_products")]
    graphs = {}
    for name, call in calls.items():
        graphs[name], result = recorded(call)
        if name != "library":
            row["error"][name] = error(result)
    row["us"] = least_us(graphs)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="products_cuda.json")
    parser.add_argument("--no-peer", action="store_true", help="without TorchInductor")
    parser.add_argument("--only", help="cases, with commas: square gelu,up none")
    parser.add_argument("--budget", type=float, default=400, help="seconds after which no further case is started")
    options = parser.parse_args()
    from benchmarks import machine

    start = time.perf_counter()
    result = dict(machine.describe_gpu(), mode=MODE, products=[])
    with torch.no_grad():
        for size, epilogue in CASES:
            if options.only and f"{size} {epilogue}" not in options.only.split(","):
                continue
            if time.perf_counter() - start > options.budget:
                break
            row = measure(size, epilogue, not options.no_peer)
            result["products"].append(row)
            print(row["name"], {k: round(v, 1) for k, v in row["us"].items()}, {k: f"{v:.1e}" for k, v in row["error"].items()}, row["chosen"], flush=True)
            machine.save(result, options.out)
    return 0


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the modules of this folder are the package `benchmarks`
    sys.exit(main())
