"""What a forward program saves may lie as Litz likes, and the backward program is told how it lies."""

import litz
import pytest
import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 4, 3, stride=2, groups=2)

    def forward(self, x):
        y = torch.nn.functional.silu(self.norm(self.first(x)))
        return torch.tanh(self.second(y)), y.mean((2, 3))


def gradients(model, run, x):
    x = x.detach().requires_grad_()
    model.zero_grad()
    outputs = run(x)
    sum((o * torch.linspace(-1, 1, o.numel()).reshape(o.shape)).sum() for o in outputs).backward()
    return [o.detach() for o in outputs], [x.grad] + [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_are_right_for_any_layout_of_what_is_saved(memory_format, dynamic):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Small()
    x = torch.randn(2, 3, 9, 10).to(memory_format=memory_format)
    expected_outputs, expected = gradients(model, model, x)
    compiled = torch.compile(model, backend=litz.backend_entry, dynamic=dynamic, options={"fallback": "error"})
    outputs, found = gradients(model, compiled, x)
    for a, b in zip(expected_outputs + expected, outputs + found, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4)
    for a, b in zip(expected_outputs, outputs, strict=True):
        assert a.stride() == b.stride()  # the user's results keep eager's


def test_the_backward_graph_is_traced_with_the_strides_that_were_saved():
    torch._dynamo.reset()
    seen = {}

    class Recorder(litz.backend._Compile):
        def compile_forward(self, gm, example_inputs):
            made = super().compile_forward(gm, example_inputs)
            seen["saved"] = list(torch._guards.TracingContext.get().output_strides)
            seen["traced"] = [tuple(o.meta["val"].stride()) for o in gm.graph.output_node().args[0]]

            def run(arguments):
                results = made(arguments)
                seen["real"] = [tuple(r.stride()) for r in results]
                return results

            run._boxed_call = True
            return run

        def compile_backward(self, gm, example_inputs):
            made = super().compile_backward(gm, example_inputs)
            seen["backward"] = {tuple(n.meta["val"].stride()) for n in gm.graph.nodes if n.op == "placeholder"}
            return made

    model = Small()
    x = torch.randn(2, 3, 9, 10)
    compiled = torch.compile(model, backend=lambda gm, inputs: Recorder({"fallback": "error"}).run(gm, inputs))
    sum(o.sum() for o in compiled(x)).backward()
    assert all(s in (None, r) for s, r in zip(seen["saved"], seen["real"], strict=True))  # None: a parameter, as it was
    moved = [s for s, t in zip(seen["saved"], seen["traced"], strict=True) if s not in (None, t)]
    assert moved, "no saved tensor lies otherwise than in eager: the test shows nothing"
    assert set(moved) <= seen["backward"]


def test_as_strided_of_what_is_saved_keeps_the_layout_of_eager():
    torch._dynamo.reset()
    weight = torch.randn(4, 3, 1, 1, requires_grad=True)

    def function(x):
        y = torch.nn.functional.conv2d(x, weight).exp()
        return torch.as_strided(y, (5,), (2,), 3) * y.flatten()[:5]

    x = torch.randn(2, 3, 4, 5)
    expected = torch.autograd.grad(function(x).sum(), weight)[0]
    found = torch.autograd.grad(torch.compile(function, backend=litz.backend_entry)(x).sum(), weight)[0]
    torch.testing.assert_close(found, expected)


def test_results_of_ops_do_not_share_memory_among_their_elements_whatever_a_rule_says():
    with torch._subclasses.FakeTensorMode():
        expanded, source = torch.empty(3).expand(5, 3), torch.empty(2, 3)
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    written = graph.call_function(torch.ops.aten.slice_scatter.default, (x, y, 0, 0, 2))
    graph.output((written,))
    x.meta["val"], y.meta["val"], written.meta["val"] = expanded, source, expanded  # a rule that keeps the strides of what it copies
    text = litz.export.export(torch.fx.GraphModule({}, graph), "test", True, {}).builder.text()
    (line,) = [line for line in text.splitlines() if "slice_scatter(%" in line]
    assert "strides" not in line.split("->")[1], line
