"""Matrix products with what reads them as one Triton kernel: each candidate computes what eager computes (in Triton's interpreter),
compiles with no GPU present, and is chosen by its time alone; times are kept on disk."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from test_fuse_attention import captured
from torch._subclasses import FakeTensorMode

from litz import _C, measure

HERE = os.path.dirname(os.path.abspath(__file__))
BF16 = torch.bfloat16


def r(*shape, dtype=BF16, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


# name -> function, inputs; from 2^28 multiplications and additions on there is a choice
PROGRAMS = {
    "gelu of a linear layer": (lambda x, w, b: F.gelu(F.linear(x, w, b)), lambda: (r(512, 512), r(512, 512) / 23, r(512))),
    "gelu of sequences": (lambda x, w, b: F.gelu(F.linear(x, w, b)), lambda: (r(4, 128, 512), r(512, 512) / 23, r(512))),
    "tails of tiles": (lambda x, w, b, s: F.silu(F.linear(x, w, b)) * s, lambda: (r(520, 520), r(504, 520) / 23, r(504), r(520, 504, seed=1))),
    "both factors turned": (lambda x, w: F.gelu(x.T @ w.T), lambda: (r(520, 512), r(520, 520) / 23)),
    "a result of another type": (lambda x, w, b: F.linear(x, w, b).float() * 3 + 1, lambda: (r(512, 512), r(512, 512) / 23, r(512))),
    "two results": (lambda x, w: ((y := F.silu(x @ w)), (y * 2).half()), lambda: (r(512, 512), r(512, 512) / 23)),
    "a result in columns": (lambda x, w: (x @ w).relu().T.contiguous(), lambda: (r(512, 512), r(512, 520) / 23)),
    "relu of a product": (lambda x, w: (x @ w).relu(), lambda: (r(512, 640), r(640, 512))),
    "a residual": (lambda x, w, b, y: F.linear(x, w, b) + y, lambda: (r(512, 512), r(512, 512) / 23, r(512), r(512, 512, seed=1))),
    "sizes that no tile divides": (lambda x, w, b, s: F.silu(F.linear(x, w, b)) * s, lambda: (r(520, 524), r(504, 524) / 23, r(504), r(520, 504, seed=1))),
    "a batch": (lambda a, b: torch.bmm(a, b).relu(), lambda: (r(7, 256, 320), r(7, 320, 264) / 18)),
    "a batch with a bias": (lambda c, a, b: F.silu(torch.baddbmm(c, a, b)), lambda: (r(8, 1, 256), r(8, 256, 256), r(8, 256, 256) / 16)),
    "a batch of two sizes": (lambda a, b: F.gelu(a @ b) * 0.5, lambda: (r(2, 4, 256, 256), r(2, 4, 256, 256) / 16)),
    "a product by itself": (torch.bmm, lambda: (r(7, 256, 320).half(), (r(7, 320, 264) / 18).half())),
    "a computed factor": (lambda x, g, w: F.silu(g) * x @ w, lambda: tuple(t.half() for t in (r(512, 512), r(512, 512, seed=1), r(512, 512) / 23))),
    "a computed factor and what follows": (lambda x, w, b: F.linear(x * 2 + 1, w, b).relu(), lambda: (r(512, 512), r(512, 512) / 23, r(512))),
    "factors whose padding is not zero": (lambda x, w: x.cos() @ w.cos(), lambda: (r(512, 524).half(), r(524, 520).half())),
    "one factor for both": (lambda x: (y := F.gelu(x)) @ y.T, lambda: (r(512, 512).half(),)),
    "a factor of rows alone": (lambda x, w: x.expand(512, 524) @ w, lambda: (r(512, 1).half(), r(524, 520).half())),
    "half": (lambda x, w, b: torch.sigmoid(F.linear(x, w, b)), lambda: tuple(t.half() for t in (r(512, 512), r(512, 512) / 23, r(512)))),
}  # fmt: skip


def compiled(function, inputs, times):
    """The requests that candidates were measured by, and the sources; `times` gives microseconds for the names of candidates."""
    requests = []

    def answer(request):
        requests.append(json.loads(request))
        return [float(times(c["name"])) for c in requests[-1]["candidates"]]

    with FakeTensorMode():
        fake = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda") for t in inputs]
        text, _ = captured(function, fake)
    _C.set_measurer(answer)
    return requests, _C.run_text(text, "generate_code", "mode=max-autotune"), text


def tiles_first(name):
    return 2.0 if name == "library" else 1.0


def runner(how, jobs):
    environment = {**os.environ, "TRITON_INTERPRET": "1"} if how == "interpret" else os.environ
    out = subprocess.run([sys.executable, os.path.join(HERE, "product_cases.py"), how], input=json.dumps(jobs), capture_output=True, text=True, env=environment, timeout=900)
    assert out.returncode == 0, out.stderr[-3000:]
    return json.loads(out.stdout)


@pytest.fixture(scope="module")
def requests():
    found = {}
    for name, (function, inputs) in PROGRAMS.items():
        measured, _, _ = compiled(function, inputs(), tiles_first)
        assert len(measured) == 1, name
        found[name] = measured[0]
    return found


def test_every_candidate_gives_what_the_library_gives(requests):
    # The library's way in the same interpreter: the op, then the kernel that reads it.
    failures = runner("interpret", requests)
    assert not failures, failures


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
def test_every_candidate_compiles_without_a_gpu(requests, target):
    failures = runner(target, {name: requests[name] for name in ("gelu of a linear layer", "sizes that no tile divides", "a batch", "factors whose padding is not zero")})
    assert not failures, failures


def descriptors_of(request):
    """The lines of the first candidate with descriptors that make them; none: there is no such candidate."""
    for c in request["candidates"]:
        if "descriptors" in c["name"]:
            return [line.strip() for line in c["steps"][-1]["source"].splitlines() if "make_tensor_descriptor" in line]
    return []


def test_descriptors_are_of_factors_and_results_that_the_hardware_can_walk(requests):
    assert descriptors_of(requests["gelu of a linear layer"]) == [
        "left_tensor = tl.make_tensor_descriptor(in0, [512, 512], [512, 1], [YBLOCK, RBLOCK])",
        "right_tensor = tl.make_tensor_descriptor(in1, [512, 512], [512, 1], [XBLOCK, RBLOCK])",
        "out0_tensor = tl.make_tensor_descriptor(out0, [512, 512], [512, 1], [YBLOCK, XPIECE])",
    ]
    assert len(descriptors_of(requests["relu of a product"])) == 3
    # Rows of 524 elements of 2 bytes are no whole number of 16 bytes, nor is a batch one matrix.
    for name in ("sizes that no tile divides", "a batch", "factors whose padding is not zero", "a factor of rows alone"):
        assert not descriptors_of(requests[name]), name
    sources = [c["steps"][-1]["source"] for c in requests["gelu of a linear layer"]["candidates"] if "descriptors" in c["name"]]
    assert {s.count("tl.dot") for s in sources} == {1} and all("flatten=True" in s for s in sources)
    assert {s.count("out0_tensor.store(") for s in sources} == {1, 2}  # whole, and in two pieces


def test_a_matrix_inside_another_has_a_descriptor_where_it_begins_at_16_bytes():
    w = r(512, 1024)
    for start, is_walked in ((8, True), (4, False)):
        request = compiled(lambda x, w, s=start: (x @ w[:, s : s + 512]).relu(), (r(512, 512), w), tiles_first)[0][0]  # noqa: B023
        lines = descriptors_of(request)
        assert bool(lines) == is_walked, start
        assert not is_walked or f"in1 + {start}, [512, 512], [1024, 1]" in lines[1]


def test_the_fastest_candidate_is_taken():
    function, inputs = PROGRAMS["gelu of a linear layer"]
    _, slow, _ = compiled(function, inputs(), lambda name: 1.0 if name == "library" else 5.0)
    assert "tl.dot" not in slow
    _, fast, text = compiled(function, inputs(), lambda name: {"library": 9.0, "128x128x64, 8 warps, 3 stages": 7.0}.get(name, 8.0))
    assert fast.count("tl.dot") == 1 and "YBLOCK: tl.constexpr = 128" in fast and "num_stages=3" in fast
    _C.set_measurer(lambda request: [-1.0] * len(json.loads(request)["candidates"]))
    assert "tl.dot" not in _C.run_text(text, "generate_code", "mode=max-autotune")
    assert "tl.dot" not in _C.run_text(text, "generate_code", "mode=default")


def kernels_of(source):
    return [part.split("\n", 1)[1] for part in ("\n" + source).split("LAUNCH = dict(")[:-1]]


def test_what_others_read_too_is_stored():
    """The product may be tiled, what reads it is a kernel of its own."""
    cases = {
        "returned": lambda x, w: ((y := x @ w), y.relu()),
        "read twice": lambda x, w: ((y := x @ w).relu() @ w) + (y @ w),
        "summed": lambda x, w: (x @ w).relu().sum(-1),
        "a factor that is returned": lambda x, w: ((y := x.relu()), y @ w),
    }
    for name, function in cases.items():
        requests, source, _ = compiled(function, (r(512, 512), r(512, 512)), tiles_first)
        kernels = kernels_of(source)
        assert any("tl.dot" in k for k in kernels) and any("lt.relu(" in k for k in kernels), name
        assert name == "read twice" or not any("tl.dot" in k and "lt.relu(" in k for k in kernels), name
        assert not any("computed" in c["name"] for c in requests[0]["candidates"]), name


def test_a_factor_is_computed_in_the_kernel_where_that_is_faster():
    function, inputs = PROGRAMS["a computed factor"]
    _, apart, _ = compiled(function, inputs(), lambda name: 2.0 if name == "library" else 3.0 if "computed" in name else 1.0)
    assert ["tl.dot" in k for k in kernels_of(apart)] == [False, True]
    _, joined, _ = compiled(function, inputs(), lambda name: 1.0 if "computed" in name else 2.0)
    assert ["tl.dot" in k for k in kernels_of(joined)] == [True]


def test_a_factor_is_not_written_while_others_read_it():
    """Another program of the grid reads what this one would write: what replaces a factor is written elsewhere, then copied."""
    _, _, text = compiled(lambda x, w: x.copy_((x @ w).relu()), (r(512, 512), r(512, 512)), tiles_first)
    plan = _C.run_text(text, "plan_memory", "mode=max-autotune")
    assert plan.count("call ") == 1 and "copy %arg0_1_0 <-" in plan


def test_products_of_float32_and_small_ones_stay_calls():
    def source_of(size, dtype):
        return compiled(lambda x, w: (x @ w).relu(), (r(size, size, dtype=dtype), r(size, size, dtype=dtype)), tiles_first)[1]

    assert "tl.dot" not in source_of(512, torch.float32)
    assert "tl.dot" not in source_of(256, BF16)
    assert "tl.dot" in source_of(512, BF16)


def test_times_are_kept_for_the_same_work_alone(tmp_path, monkeypatch, requests):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    request = requests["gelu of a linear layer"]
    path = measure.path_of(request, "a device")
    assert measure.load(path, 3) is None
    measure.store(path, [3.0, 2.0, 1.5])
    assert measure.load(path, 3) == [3.0, 2.0, 1.5] and measure.load(path, 4) is None
    renamed = json.loads(json.dumps(request).replace("def fused_", "def other_").replace("kernel=fused_", "kernel=other_"))
    assert renamed != request and measure.path_of(renamed, "a device") == path
    assert measure.path_of(request, "another device") != path
    assert measure.path_of(requests["half"], "a device") != path
    with open(path, "w") as file:
        file.write("broken")
    assert measure.load(path, 3) is None


def test_computed_factors_stay_in_few_stages(requests):
    """With three or more, Triton 3.6 overwrote registers that a multiplication was still reading."""
    for name in ("a computed factor", "a computed factor and what follows", "one factor for both", "factors whose padding is not zero"):
        sources = [c["steps"][-1]["source"] for c in requests[name]["candidates"] if "computed" in c["name"]]
        assert sources and all("num_stages=2)" in s for s in sources), name


def test_candidates_that_give_other_results_are_not_taken():
    names = ["library", "right", "rounded", "wrong", "right once", "not a number", "nothing"]
    step = {"source": "", "tensors": [0, 1], "writes": [1], "range": 1}
    parsed = {"device": "cpu", "tensors": [["bf16", [64, 64], [64, 1]]] * 2, "candidates": [{"name": n, "steps": [step]} for n in names]}
    bench = measure._Bench(parsed)
    x, y = bench.tensors
    calls = []

    def right():
        y.copy_(x.relu())

    def once():
        calls.append(right() if not calls else y.copy_(x))

    ways = [right, right, lambda: y.copy_(x.relu() * 1.004), lambda: y.copy_(x), once, lambda: y.fill_(float("nan")), lambda: None]
    taken = [n for n, c, way in zip(names, parsed["candidates"], ways, strict=True) if bench.difference(c, [way]) == 0]
    assert taken == ["library", "right", "rounded"]
    bench.expected = {}  # the library failed
    assert bench.difference(parsed["candidates"][1], [right]) > 0
    assert bench.difference(parsed["candidates"][0], [right]) == 0
    x.fill_(-1)  # all results are 0
    assert [bench.difference(parsed["candidates"][k], [ways[k]]) for k in (0, 1, 6)] == [0, 0, 0]


def test_small_differences_are_seen():
    """Of a bias alone where the product is missing, of a part of the result, of values that are not finite, of truth values."""
    x, w = (measure.filled("bf16", [512, 4096], [4096, 1], "cpu") for _ in range(2))
    bias = measure.filled("bf16", [512], [1], "cpu")
    wanted = (x.float() @ w.float().T + bias.float()).bfloat16()
    assert measure.distance(wanted, wanted) == 0 and measure.distance((wanted.float() * 1.003).bfloat16(), wanted) == 0
    assert measure.distance(bias.expand_as(wanted), wanted) > 0.1
    part = wanted.clone()
    part[17, 40:48] = 0
    assert measure.distance(part, wanted) > 0
    strange = wanted.float().log().bfloat16()  # of negative numbers: not a number
    assert measure.distance(strange, strange) == 0 and measure.distance(wanted, strange) > 0
    assert measure.distance(torch.full_like(wanted, 3e38), torch.full_like(wanted, 3e38)) == 0
    assert measure.distance(wanted > 0, wanted > 0) == 0 and measure.distance(wanted > 0, wanted < 0) > 0
