"""Times ways to compute the same on the device, for mode="max-autotune"; what was measured is kept on disk.

A request (src/litz/driver/choose_products.h) is JSON: "device"; "tensors", each [type, sizes, strides]; "candidates", each a "name" and
"steps". A step is a "call" of an op on "views" ([tensor, sizes, strides, offset]) that writes tensor "out", or the "source" of a kernel
with its "tensors", those of them that it "writes" whole, and "range" of programs. What a candidate writes last must be what the first
candidate, the library, writes; one that differs is not taken. The key of what is kept: the request without names and comments, the device, versions.
"""

import contextlib
import contextvars
import hashlib
import importlib.metadata
import json
import os
import re
import tempfile
import warnings

import torch

from litz import kernel_cache, triton_worker

FORMAT = "litz-times-3"
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
    "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}
REPEATS = 10  # in one recorded graph
DIFFERENCE = 0.03  # most of a candidate's results from the library's, relative, of 16-bit floats
WORST = 0.06  # the same of one element, relative to the largest


def measure(request):
    """Microseconds of each candidate, in order; -1 for one that does not work."""
    parsed = json.loads(request)
    path = path_of(parsed)
    times = load(path, len(parsed["candidates"]))
    if times is None:
        try:
            times = _Bench(parsed).run()
        except Exception as error:  # the library's way stays
            warnings.warn(f"litz: candidates were not measured: {type(error).__name__}: {error}", stacklevel=2)
            return [-1.0] * len(parsed["candidates"])
        if times[0] > 0:
            store(path, times)
    return times


def identity_of(source):
    """The source without comments, and with one name for every kernel."""
    lines = [line for line in (text.split("#", 1)[0].rstrip() for text in source.splitlines()) if line]
    text = "\n".join(lines)
    name = re.search(r"@triton\.jit\ndef (\w+)\(", text)
    return re.sub(rf"\b{name[1]}\b", "kernel", text) if name else text


def path_of(parsed, device_name=None):
    digest = hashlib.sha256(FORMAT.encode())
    name = device_name or torch.get_device_module(parsed["device"]).get_device_name()
    for part in (name, torch.__version__, torch.version.cuda or "", importlib.metadata.version("triton"), json.dumps(parsed["tensors"])):
        digest.update(f"{part}\n".encode())
    for candidate in parsed["candidates"]:
        for step in candidate["steps"]:
            digest.update(json.dumps({**step, "source": identity_of(step.get("source", ""))}, sort_keys=True).encode())
        digest.update(b"\n")
    key = digest.hexdigest()
    return os.path.join(kernel_cache.folder("times"), key[:2], key)


def load(path, count):
    try:
        with open(path) as file:
            found = json.load(file)
        times = [float(t) for t in found["times"]]
        return times if found["format"] == FORMAT and len(times) == count else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(path, times):
    with contextlib.suppress(OSError):  # then it is measured again
        kernel_cache.write_whole(path, json.dumps({"format": FORMAT, "times": times}).encode())


def filled(dtype, sizes, strides, device):
    tensor = torch.empty_strided(sizes, strides, dtype=DTYPES[dtype], device=device)
    if not tensor.is_floating_point():
        return tensor.zero_()
    return tensor.normal_(std=sizes[-1] ** -0.25 if len(sizes) > 1 else 1)  # products of such matrices are about 1, as a bias is


def written(step):
    return [step["out"]] if "call" in step else step["writes"]


def with_scratch(device, function):
    """function(), whose kernels may make tensor descriptors: Triton asks its caller for the memory, in this context alone."""
    import triton

    def run():
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))
        return function()

    return contextvars.copy_context().run(run)


def distance(got, wanted):
    """How far results lie apart, relative, all of them or the worst: 0 where that may be rounding."""
    if not got.is_floating_point():
        share = (got != wanted).float().mean().item()
        return share if share > DIFFERENCE else 0
    is_finite = wanted.isfinite()
    if not torch.equal(got.isfinite(), is_finite):
        return float("inf")
    got, wanted = (torch.where(is_finite, x, 0).float() for x in (got, wanted))
    largest = wanted.abs().amax().clamp_min(1e-30)
    got, wanted = got / largest, wanted / largest  # no square is too large
    off = got - wanted
    apart = (torch.linalg.vector_norm(off) / torch.linalg.vector_norm(wanted).clamp_min(1e-30)).item()
    worst = off.abs().amax().item()
    return max(apart, worst) if apart > DIFFERENCE or worst > WORST else 0


class _Bench:
    def __init__(self, parsed):
        self.parsed = parsed
        self.tensors = [filled(*t, parsed["device"]) for t in parsed["tensors"]]
        self.errors = torch.zeros(8, dtype=torch.int64, device=parsed["device"])
        self.expected = {}  # tensor -> what the library's way writes to it

    def run(self):
        return with_scratch(self.parsed["device"], self.run_all)

    def run_all(self):
        with tempfile.TemporaryDirectory(prefix="litz_measure_") as folder, torch.no_grad():
            library, *others = self.parsed["candidates"]
            graphs = [self.recorded(library, folder)]
            if graphs[0] is None:
                return [-1.0] * (1 + len(others))
            graphs += [self.recorded(candidate, folder) for candidate in others]
            times = [-1.0] * len(graphs)
            for _ in range(4):  # in turns: clocks drift
                for k, graph in enumerate(graphs):
                    if graph is not None:
                        took = self.time(graph)
                        times[k] = took if times[k] < 0 else min(times[k], took)
        return times

    def recorded(self, candidate, folder):
        try:
            steps = [self.step(s, folder) for s in candidate["steps"]]
            if difference := self.difference(candidate, steps):
                warnings.warn(f"litz: {candidate['name']} gives other results than the library ({difference:.1e} apart) and is not used", stacklevel=2)
                return None
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(REPEATS):
                    for step in steps:
                        step()
            graph.replay()
            torch.cuda.synchronize()
            return graph
        except Exception as error:  # a compiler that gives up
            if type(error).__name__ != "OutOfResources":  # of shared memory: another candidate's turn
                warnings.warn(f"litz: {candidate['name']} cannot be measured: {type(error).__name__}: {str(error)[:200]}", stacklevel=2)
            return None

    def difference(self, candidate, steps):
        """How far what it writes lies from what the first candidate wrote, where that is more than rounding; else 0."""
        is_library = candidate is self.parsed["candidates"][0]
        results = [t for t in written(candidate["steps"][-1]) if is_library or t in self.expected]
        if not results:
            return float("inf")  # nothing can be compared
        for t in results:
            self.tensors[t].fill_(0)
        for _ in range(3):  # kernels that race may be right once
            for step in steps:
                step()
            if is_library:
                self.expected = {t: self.tensors[t].clone() for t in results}
            for t in results:
                if apart := distance(self.tensors[t], self.expected[t]):
                    return apart
        return 0

    def step(self, step, folder):
        if "call" in step:
            op = getattr(torch.ops.aten, step["call"].removeprefix("aten.")).out
            views = [self.tensors[t].as_strided(sizes, strides, offset) for t, sizes, strides, offset in step["views"]]
            return lambda: op(*views, out=self.tensors[step["out"]])
        triton_worker.load_ops()
        launch = triton_worker.load_source(step["source"], folder).LAUNCH
        arguments = [self.tensors[t] for t in step["tensors"]] + ([self.errors] if launch["reports_errors"] else [])
        run = launch["kernel"][(step["range"],)]
        options = dict(num_warps=launch["num_warps"], num_stages=launch.get("num_stages", 1), enable_fp_fusion=launch.get("fuses_products", False))
        return lambda: run(*arguments, **options)

    def time(self, graph):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / REPEATS
