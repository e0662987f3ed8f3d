"""Attention written as products and a softmax becomes one call, and means the same; what only looks like it stays as it is."""

import re

import pytest
import torch
import torch._functorch.config
from attention_cases import NEAR_MISSES, attend, bert, cases, heads, nano_gpt, noise, swin, t5
from graph_text import DTYPES, GraphText, contiguous_strides, split_top
from test_decompositions import tool
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses import FakeTensorMode

import litz
from litz import _C, export
from litz._capture import native_ops

CASES = cases()


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def captured(function, inputs):
    """The text of the graph that litz gets, and the tensors that it is called with."""
    found = []

    class Done(BaseException):
        pass

    def compiler(gm, _):
        found.insert(0, export.export(gm, "inference", True, {}).builder.text())
        raise Done

    def backend(gm, example):
        found.append(example)
        with torch._functorch.config.patch(unlift_effect_tokens=True), native_ops():
            return aot_autograd(fw_compiler=compiler, inference_compiler=compiler, keep_inference_input_mutations=True)(gm, example)

    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Done):
        torch.compile(function, backend=backend)(*inputs)
    return found


def wide(t):
    return t.double() if t.is_floating_point() else t


@pytest.mark.parametrize("name", [n for n in CASES if n != "values of another width"])
def test_attention_becomes_one_call_with_the_same_meaning(name):
    function, inputs = CASES[name]
    text, tensors = captured(function, inputs)
    text = tool("functionalize_writes", "fuse_attention", text=text)
    graph = GraphText(text)
    calls = graph.ops().count("aten._scaled_dot_product_flash_attention_for_cpu")
    assert calls == (2 if name == "two layers" else 1), text
    assert not any(op.endswith(("bmm", "_softmax")) for op in graph.ops()), text
    (actual,) = graph.run(tensors, check=False)
    torch.testing.assert_close(actual.double(), function(*map(wide, inputs)), rtol=2e-5, atol=2e-5, equal_nan=True)


# Rows long enough for the CPU to take its one call.
LONG = {
    "plain": (attend, ()),
    "bert": (bert, (noise(1, 1, 1, 512),)),
    "nano gpt": (nano_gpt, (torch.ones(1, 1, 512, 512).tril(-1),)),  # the first row has no keys
    "t5": (t5, (noise(1, 2, 512, 512),)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LONG)
def test_compiled_attention_is_as_accurate_as_eager(name, dtype):
    function, more = LONG[name]
    inputs = [t.to(dtype) for t in (*heads(1, 2, 512, 32), *more)]
    with torch.no_grad():
        actual = torch.compile(function, backend="litz", options={"fallback": "error"})(*inputs)
    calls = litz.last_report()["library_calls"]
    assert any("scaled_dot_product" in op for op in calls) and not any("bmm" in op for op in calls), calls
    exact, eager = function(*map(wide, inputs)), function(*inputs)
    assert torch.equal(actual.isnan(), eager.isnan())
    seen = ~eager.isnan()
    error = lambda y: (y[seen].double() - exact[seen]).norm() / exact[seen].norm()
    assert error(actual) <= 1.5 * error(eager) + torch.finfo(dtype).eps / 2, (error(actual), error(eager))


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_only_looks_like_attention_stays(name):
    function, reason = NEAR_MISSES[name]
    q, k, v = heads(2, 4, 10, 10)
    text = tool("functionalize_writes", "fuse_attention", text=captured(function, (q, k, v))[0])
    assert "scaled_dot_product" not in text
    with torch.no_grad():
        actual = torch.compile(function, backend="litz", options={"fallback": "error"})(q, k, v)
    refusals = [r for r in litz.last_report()["refusals"] if r.startswith("fuse_attention")]
    assert (not refusals) if reason is None else (len(refusals) == 1 and reason in refusals[0]), refusals
    torch.testing.assert_close(actual, function(q, k, v), rtol=2e-2, atol=2e-2)


def test_integers_have_no_attention():
    q = torch.randint(0, 3, (2, 4, 10, 10))
    function = lambda q: ((q @ q.transpose(-2, -1)).float().softmax(-1).long()) @ q
    with torch.no_grad():
        actual = torch.compile(function, backend="litz")(q)
    assert torch.equal(actual, function(q))


def test_dropout_in_training_is_refused():
    function = lambda q, k, v: torch.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.5, True) @ v
    with torch.no_grad():
        torch.compile(function, backend="litz")(*heads(2, 4, 10, 16))
    refusals = litz.last_report()["refusals"]
    assert any("fuse_attention" in r and "between the softmax" in r for r in refusals), refusals


def test_strict_numerics_keep_the_roundings():
    with torch.no_grad():
        torch.compile(CASES["plain"][0], backend="litz", options={"numerics": "strict"})(*CASES["plain"][1])
    assert not any("scaled_dot_product" in op for op in litz.last_report()["library_calls"])


# ---- on a GPU that is only imagined: what is called, and how ----

EFFICIENT = "aten._scaled_dot_product_efficient_attention"


def on_cuda(function, inputs, dtype=torch.bfloat16):
    """The graph for fake CUDA tensors, after the pass."""
    with FakeTensorMode():
        fake = [torch.empty_strided(t.shape, t.stride(), dtype=dtype if t.is_floating_point() else t.dtype, device="cuda") for t in inputs]
        text, _ = captured(function, fake)
    return _C.run_text(text, "fuse_attention")


def described(meta):
    """(sizes, strides, type) of a tensor's text."""
    dtype, sizes = re.match(r"(\w+)\[([^\]]*)\]", meta).groups()
    sizes = [int(n) for n in sizes.split(", ") if n]
    strides = re.search(r"strides \[([^\]]*)\]", meta)
    return sizes, [int(n) for n in strides[1].split(", ")] if strides else contiguous_strides(sizes), DTYPES[dtype]


def attention_calls(text):
    """For each fused call: its tensors by argument, and its results as described by the graph."""
    graph = GraphText(text)
    metas = {name: meta for name, meta in graph.inputs}
    for names, _, _, results in graph.nodes:
        metas.update(zip(names, split_top(results.removesuffix(" built"))))
    calls = [(arguments, names) for names, op, arguments, _ in graph.nodes if op == EFFICIENT]
    return [({i: described(metas[a]) for i, a in enumerate(args) if a.startswith("%")}, [described(metas[n]) for n in names]) for args, names in calls]


@pytest.mark.parametrize("name", CASES)
def test_a_gpu_gets_the_call_with_the_results_that_the_framework_describes(name):
    text = on_cuda(*CASES[name])
    calls = attention_calls(text)
    assert calls and not re.search(r"aten\.(bmm|_softmax)\(", text), text
    for tensors, results in calls:
        with FakeTensorMode():
            given = {i: torch.empty_strided(sizes, strides, dtype=dtype, device="cuda") for i, (sizes, strides, dtype) in tensors.items()}
            made = torch.ops.aten._scaled_dot_product_efficient_attention(given[0], given[1], given[2], given.get(3), False)
        assert results == [(list(t.shape), list(t.stride()), t.dtype) for t in made]
        for i, (sizes, strides, dtype) in tensors.items():
            assert strides[-1] == 1 or i == 3 and sizes[-1] == 1
            assert all(n == 1 or s * dtype.itemsize % 16 == 0 for n, s in zip(sizes[:-1], strides[:-1])), (i, sizes, strides)


def test_the_bias_of_a_window_of_49_has_rows_of_56():
    inputs = (*(t.bfloat16() for t in heads(8, 3, 49, 32)), noise(169, 3), torch.zeros(49, 49, dtype=torch.int64), noise(4, 49, 49))
    ((tensors, _),) = attention_calls(on_cuda(swin, inputs))
    sizes, strides, _ = tensors[3]
    assert sizes == [8, 3, 49, 49] and strides[2:] == [56, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_gpu_has_fused_attention_of_float_types(dtype):
    assert len(attention_calls(on_cuda(t5, (*heads(2, 4, 16, 32), noise(1, 4, 16, 16)), dtype))) == 1


def test_a_gpu_has_none_of_float64_and_of_odd_widths():
    assert not attention_calls(on_cuda(CASES["plain"][0], heads(2, 4, 10, 16), torch.float64))
    assert not attention_calls(on_cuda(CASES["plain"][0], heads(2, 4, 10, 20)))


def test_attention_of_sizes_that_change_is_one_call():
    compiled = torch.compile(bert, backend="litz", options={"fallback": "error"})
    for rows in (512, 640):  # the second graph is for any number of rows
        inputs = (*heads(2, 2, rows, 32), noise(2, 1, 1, rows))
        with torch.no_grad():
            actual = compiled(*inputs)
        torch.testing.assert_close(actual.double(), bert(*map(wide, inputs)), rtol=2e-5, atol=2e-5)
    assert any("scaled_dot_product" in op for op in litz.last_report()["library_calls"]), litz.last_report()["refusals"]
