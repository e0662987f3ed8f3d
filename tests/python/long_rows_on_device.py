"""Kernels whose programs count themselves or wait for each other, on a GPU: called again and again, on several streams at once, beside
kernels that fill the device, and from recordings that are replayed at the same time. Every result must have the bits of the first one.

    python tests/python/long_rows_on_device.py [--repeats N]

The last line counts what passed; the exit status is 1 if anything differs. What hangs is killed after ten minutes.
"""

import argparse
import faulthandler
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import litz  # noqa: E402
from device_checks import run_checks  # noqa: E402

CASES = {
    "sum": (lambda x: x.sum(-1), (1, 1 << 20)),
    "argmax": (lambda x: x.argmax(-1), (8, 131072)),
    "variance": (lambda x: x.var(-1), (8, 131072)),
    "softmax": (lambda x: torch.softmax(x, -1), (8, 131072)),
    "layer norm": (lambda x: F.layer_norm(x, x.shape[-1:]), (5, 100003)),
    "cumsum": (lambda x: x.abs().cumsum(-1), (8, 131072)),
}
STREAMS = 4


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=litz.backend_entry, options={"fallback": "error"})


def same(results, first, what):
    torch.cuda.synchronize()
    wrong = [k for k, y in enumerate(results) if not torch.equal(y, first)]
    assert not wrong, f"{what}: {len(wrong)} of {len(results)} results differ, the first of them is {wrong[0]}"


def on_streams(call, x, repeats, busy=None):
    """Calls that alternate between streams, with kernels of `busy` on one more."""
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    torch.cuda.synchronize()
    results, other = [], torch.cuda.Stream()
    for k in range(repeats):
        if busy is not None and k % 8 == 0:
            with torch.cuda.stream(other):
                busy @ busy
        with torch.cuda.stream(streams[k % STREAMS]):
            results.append(call(x))
    return results


def from_recordings(call, x, repeats):
    """One recording on each of several streams, replayed at the same time."""
    streams, graphs, outputs = [torch.cuda.Stream() for _ in range(STREAMS)], [], []
    torch.cuda.synchronize()
    for _ in streams:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=streams[0]):  # all from one stream: their counters must be their own all the same
            outputs.append([call(x), call(x)])
        graphs.append(graph)
    results = []
    for _ in range(repeats // 10):
        for stream, graph in zip(streams, graphs, strict=True):
            with torch.cuda.stream(stream):
                for _ in range(10):
                    graph.replay()
        torch.cuda.synchronize()
        results += [y.clone() for pair in outputs for y in pair]
    return results


def check(name, repeats):
    function, size = CASES[name]
    torch.manual_seed(0)
    x = torch.randn(size, device="cuda")
    call = compiled(function)
    first, exact = call(x), function(x.double())
    if first.is_floating_point():
        torch.testing.assert_close(first.double(), exact, rtol=2e-5, atol=1e-5)
    else:
        assert torch.equal(first, exact)
    same([call(x) for _ in range(repeats)], first, "one after the other")
    same(on_streams(call, x, repeats), first, "on several streams")
    same(on_streams(call, x, repeats, torch.randn(4096, 4096, device="cuda")), first, "beside products")
    same(from_recordings(call, x, repeats), first, "from recordings")
    return litz.last_report()["kernels"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    faulthandler.dump_traceback_later(600, exit=True)
    with torch.no_grad():
        return run_checks({name: lambda name=name: f"{check(name, repeats)} kernels" for name in CASES})


if __name__ == "__main__":
    sys.exit(main())
