"""Every decomposition against eager: calls are written as graph text, decomposed, run through torch.ops node by node, and compared.
Sizes, types and view strides of every node are checked on the way."""

import collections
import pathlib
import subprocess

import pytest
import torch
from decomposition_samples import samples
from graph_text import GraphText, call_text, op_name
from torch.utils._pytree import tree_map

ROOT = pathlib.Path(__file__).parents[2]
# Of other devices, of uninitialised memory, or made by tracing alone.
NOT_ON_CPU = {
    "aten.cudnn_batch_norm", "aten.miopen_batch_norm", "aten.empty.memory_format", "aten.empty_like", "aten.new_empty",
    "aten.new_empty_strided", "aten.empty_strided", "aten.empty_permuted", "prims.empty", "prims.empty_permuted", "prims.empty_strided",
    "aten._fused_rms_norm_backward", "aten.lift", "aten.lift_fresh",
}
HALF = (torch.bfloat16, torch.float16)
NARROW = (*HALF, torch.float32)
TOOL = ROOT / "build/dev/tests/graph/graph_tool"
def tool(*arguments, text=""):
    return subprocess.run([TOOL, *arguments], input=text, capture_output=True, text=True, check=True).stdout


def decomposed(texts):
    out = tool("decompose", text="".join(texts))
    graphs, current = [], []
    for line in out.splitlines(keepends=True):
        current.append(line)
        if line.startswith("return"):
            graphs.append("".join(current))
            current = []
    return graphs


def listed(results):
    return [t for t in (results if isinstance(results, (list, tuple)) else [results]) if t is not None]


def assert_close(result, expected, exact, context):
    """Equal within PyTorch's tolerances or, for half types, no further from the exact value than eager, but for half a unit more. Where
    the exact value is no finite number, eager's vector code may lose that (on AVX-512 gelu of inf is NaN): then the exact value counts."""
    if exact is not None and expected.dtype in NARROW:
        lost = ~exact.isfinite() & ((result == exact) | (result.isnan() & exact.isnan()))
        expected = expected.where(~lost, result)
    try:
        torch.testing.assert_close(result, expected, equal_nan=True)
        return
    except AssertionError as e:
        if expected.dtype not in HALF or exact is None:
            raise AssertionError(f"{e}{context}") from None
    eps = torch.finfo(expected.dtype).eps
    r, e = result.double(), expected.double()
    is_near = (r - exact).abs() <= (e - exact).abs() + eps * exact.abs() + torch.finfo(expected.dtype).tiny
    same = (result == expected) | (result.isnan() & expected.isnan())
    assert (is_near | same).all(), f"eager {expected}\nfound {result}\nexact {exact}{context}"


class Case:
    def __init__(self, func, args, kwargs):
        self.func, self.args, self.kwargs = func, args, kwargs
        with torch.no_grad():
            self.expected = func(*args, **kwargs)
        self.text, self.inputs = call_text(func, args, kwargs, self.expected)

    def check(self, text):
        """True if a decomposition took the call; raises AssertionError where it is wrong."""
        graph = GraphText(text)
        if graph.ops() == [op_name(self.func)] and " built\n" not in text:
            return False
        with torch.no_grad():
            results = graph.run(self.inputs)
        for e, r, exact in zip(listed(self.expected), results, self.reference(), strict=True):
            assert_close(r, e, exact, f"\n{self.text}\n{text}")
        return True

    def reference(self):
        """The call in float64; None where it cannot be made."""
        if not any(t.dtype in NARROW for t in self.inputs):
            return [None] * len(listed(self.expected))

        def widened(a):
            if isinstance(a, torch.Tensor):
                return a.double() if a.dtype in NARROW else a
            return torch.float64 if a in NARROW else a

        try:
            with torch.no_grad():
                return listed(self.func(*tree_map(widened, self.args), **tree_map(widened, self.kwargs)))
        except (RuntimeError, NotImplementedError):
            return [None] * len(listed(self.expected))


def overload(op):
    return op.default if isinstance(op, torch._ops.OpOverloadPacket) else op


@pytest.fixture(scope="module")
def outcome():
    cases, refused = [], []
    for op, args, kwargs in samples():
        try:
            cases.append(Case(overload(op), args, kwargs))
        except (RuntimeError, NotImplementedError) as e:  # eager does not take the type
            refused.append((str(op), str(e)))
    assert len(refused) < len(cases) / 20, refused
    graphs = decomposed([c.text for c in cases])
    assert len(graphs) == len(cases)
    taken, failures = collections.Counter(), []
    for case, text in zip(cases, graphs):
        try:
            taken[op_name(case.func)] += case.check(text)
        except Exception as e:
            failures.append((op_name(case.func), f"{type(e).__name__}: {e}"))
    return taken, failures


def test_decomposed_calls_give_what_eager_gives(outcome):
    taken, failures = outcome
    by_op = collections.Counter(op for op, _ in failures)
    assert not failures, f"{dict(by_op)}\n" + "\n\n".join(message[:3000] for _, message in failures[:5])


def test_every_decomposition_is_reached(outcome):
    taken, _ = outcome
    never = [op for op in tool("--decompositions").split() if not taken[op] and op not in NOT_ON_CPU]
    assert not never
