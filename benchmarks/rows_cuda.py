#!/usr/bin/env python3
"""Scans, sorts and long reductions along rows on a GPU: eager, TorchInductor and Litz, each recorded as a CUDA graph, and the time that a
copy of the same bytes takes (two passes over the input); beside it what a call takes that is not recorded (`call_us`), where launches count.

    python benchmarks/rows_cuda.py --out rows.json [--no-peer]
"""

import argparse
import os
import sys
import time

import torch

import litz

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the modules of this folder are the package `benchmarks`
from benchmarks import machine  # noqa: E402
from benchmarks.products_cuda import least_us, recorded, seconds_of_call  # noqa: E402


def most_likely(x):
    """What nucleus sampling keeps of each row."""
    shares, places = torch.softmax(x, -1).sort(dim=-1, descending=True)
    before = shares.cumsum(-1) - shares
    return shares.masked_fill(before > 0.9, 0.0), places


# name -> function, sizes
CASES = {
    "cumsum": (lambda x: x.cumsum(-1), [(4096, 1024), (4096, 4096), (64, 50257), (8, 131072), (1, 1 << 22)]),
    "cumsum of columns": (lambda x: x.cumsum(0), [(4096, 4096), (1 << 17, 32)]),
    "cummax": (lambda x: x.cummax(-1), [(4096, 1024), (8, 131072)]),
    "softmax and cumsum": (lambda x: torch.softmax(x, -1).cumsum(-1), [(4096, 1024), (64, 50257)]),
    "sort": (lambda x: x.sort(dim=-1), [(65536, 64), (8192, 256), (4096, 1024)]),
    "most likely": (most_likely, [(65536, 64), (4096, 1024)]),
    "sum": (lambda x: x.sum(-1), [(1, 1 << 24), (16, 1 << 20), (8, 131072)]),
    "variance": (lambda x: x.var(-1), [(8, 131072)]),
    "softmax": (lambda x: torch.softmax(x, -1), [(8, 131072), (1, 1 << 22)]),
    "layer norm": (lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), [(8, 131072)]),
}


def call_us(call, repeats=200):
    """The least of several means over calls one after the other."""
    least = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        least = min(least, (time.perf_counter() - begin) / repeats * 1e6)
    return least


def measure(name, function, sizes, peer):
    torch.manual_seed(0)
    x = torch.randn(sizes, device="cuda")
    row = dict(name=f"{name} {'x'.join(map(str, sizes))}", us={}, error={}, first_call_s={})
    exact = torch.utils._pytree.tree_leaves(function(x.double()))[0]
    target = torch.empty_like(x)
    calls = {"copy": lambda: target.copy_(x), "eager": lambda: function(x)}
    for backend in ["litz", "inductor"] if peer else ["litz"]:
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=backend)
        calls[backend] = lambda compiled=compiled: compiled(x)
        row["first_call_s"][backend] = seconds_of_call(calls[backend])
        if backend == "litz":
            report = litz.last_report()
            row.update({k: report[k] for k in ("kernels", "extern_calls")})
    graphs = {}
    for key, call in calls.items():
        graphs[key], result = recorded(call)
        if key != "copy":
            row["error"][key] = ((torch.utils._pytree.tree_leaves(result)[0].double() - exact).norm() / exact.norm()).item()
    row["us"] = least_us(graphs)
    row["call_us"] = {key: call_us(call) for key, call in calls.items() if key != "copy"}
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="rows_cuda.json")
    parser.add_argument("--no-peer", action="store_true", help="without TorchInductor")
    parser.add_argument("--budget", type=float, default=300, help="seconds after which no further case is started")
    parser.add_argument("--cases", default=",".join(CASES), help="names of cases, separated by commas")
    options = parser.parse_args()
    start = time.perf_counter()
    result = dict(machine.describe_gpu(), rows=[])
    with torch.no_grad():
        for name in filter(None, options.cases.split(",")):
            function, all_sizes = CASES[name]
            for sizes in all_sizes:
                if time.perf_counter() - start > options.budget:
                    break
                try:
                    row = measure(name, function, sizes, not options.no_peer)
                except Exception as error:  # a case that fails is a row of the result
                    row = dict(name=f"{name} {sizes}", failed=repr(error)[:600])
                result["rows"].append(row)
                times = [{k: round(v, 1) for k, v in row.get(key, {}).items()} for key in ("us", "call_us")]
                print(row["name"], row.get("failed") or times, row.get("kernels"), row.get("extern_calls"), flush=True)
                machine.save(result, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
