#!/usr/bin/env python3
"""First calls on a GPU, each in a process of its own: `python3 benchmarks/first_call_cuda.py --out FILE`.

Per model: `aot_eager` (what capture alone costs), Litz with an empty cache, Litz again with the cache that this left, TorchInductor with
empty caches. Eager runs once before the clock starts; what libraries load and plan for calls that eager does not make counts. Libraries
are read from disk before anything is measured: which process is the first to need one of their files says nothing about compilers.
While a process is timed, the next ones get their models ready (`--ahead`) and wait: what is timed runs alone.
"""
from __future__ import annotations

import argparse
import fcntl
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

BACKENDS = ("aot_eager", "litz", "litz_again", "inductor")


def child(model: str, backend: str, turn: str) -> dict:
    import torch

    from benchmarks.bench_cuda import model_on_gpu

    module, inputs = model_on_gpu(model)

    @torch.no_grad()
    def step(f):
        f(**inputs) if "x" not in inputs else f(inputs["x"])
        torch.cuda.synchronize()

    step(module)
    compiled = torch.compile(module, backend=backend.removesuffix("_again"))
    with open(turn, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given up with the file
        start = time.perf_counter()
        step(compiled)
        row = dict(seconds=time.perf_counter() - start)
    if backend.startswith("litz"):
        import litz

        report = litz.last_report()
        row.update(own_ms=report["total_ms"], compile_kernels_ms=report["stage_ms"]["compile_kernels"], kernels=report["kernels"])
    return row


def read_libraries() -> None:
    """Puts the libraries that models call, and those of the compilers, into the system's cache of files."""
    import torch
    import triton

    packages = os.path.dirname(os.path.dirname(torch.__file__))
    folders = (os.path.join(packages, "nvidia"), os.path.dirname(torch.__file__), os.path.dirname(triton.__file__))
    paths = [path for folder in folders for path in glob.glob(os.path.join(folder, "**", "lib*.so*"), recursive=True)]
    used = ("cudnn", "cublas", "nvrtc", "torch", "c10", "triton")

    def read(path):
        with open(path, "rb") as file:
            while file.read(1 << 26):
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, [path for path in paths if any(word in os.path.basename(path) for word in used)]))


def run_model(model: str, options, turn: str) -> dict:
    row = dict(name=model)
    with tempfile.TemporaryDirectory(prefix="litz-bench-") as folder:
        for backend in options.backends.split(","):
            own = os.path.join(folder, backend.removesuffix("_again"))
            environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
                           "XDG_CACHE_HOME": own, "TRITON_CACHE_DIR": os.path.join(own, "triton"),
                           "TORCHINDUCTOR_CACHE_DIR": os.path.join(own, "inductor"), "PYTHONWARNINGS": "ignore"}  # fmt: skip
            command = [sys.executable, __file__, "--child", model, backend, turn]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
            row[backend] = json.loads(line[len("RESULT ") :]) if line else dict(failed=done.stderr[-1500:])
    return row


def summary(rows: list[dict]) -> dict:
    seconds = {b: [r[b]["seconds"] for r in rows if "seconds" in r.get(b, {})] for b in BACKENDS}
    both = [r for r in rows if all("seconds" in r.get(b, {}) for b in BACKENDS)]
    return dict(
        mean_s={b: sum(s) / len(s) for b, s in seconds.items() if s}, longest_litz_s=max(seconds["litz"], default=None),
        inductor_over_litz=sum(r["inductor"]["seconds"] for r in both) / sum(r["litz"]["seconds"] for r in both) if both else None,
        again_over_capture_s={r["name"]: r["litz_again"]["seconds"] - r["aot_eager"]["seconds"] for r in both})  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="first_call_cuda.json")
    parser.add_argument("--models")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--ahead", type=int, default=2, help="models that are got ready while another one is timed")
    parser.add_argument("--budget", type=float, default=540, help="seconds after which no further model is started")
    parser.add_argument("--child", nargs=3, metavar=("MODEL", "BACKEND", "TURN"))
    options = parser.parse_args()
    if options.child:
        print("RESULT " + json.dumps(child(*options.child)), flush=True)
        return 0
    from benchmarks import machine
    from benchmarks.bench_cuda import MODELS

    start = time.perf_counter()
    read_libraries()
    result = dict(machine.describe_gpu(), models=[])

    def run(model):
        if time.perf_counter() - start > options.budget:
            return
        row = run_model(model, options, turn.name)
        result["models"].append(row)
        result.update(summary(result["models"]))
        print(json.dumps(row), flush=True)
        machine.save(result, options.out)

    with tempfile.NamedTemporaryFile(prefix="litz-turn-") as turn, ThreadPoolExecutor(1 + options.ahead) as pool:
        list(pool.map(run, options.models.split(",") if options.models else MODELS))
    print(json.dumps({k: v for k, v in result.items() if k != "models"}))
    return 0


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the modules of this folder are the package `benchmarks`
    sys.exit(main())
