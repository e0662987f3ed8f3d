"""freezing=True: parameters are constants, norms become weights, weights are packed; what comes out is what eager gives."""

import litz
import pytest
import torch


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def frozen(model, **options):
    return torch.compile(model, backend=litz.backend_entry, options={"freezing": True, "fallback": "error", **options})


class Block(torch.nn.Module):
    def __init__(self, bias, affine, groups=1):
        super().__init__()
        self.conv = torch.nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=bias, groups=groups)
        self.norm = torch.nn.BatchNorm2d(16, affine=affine)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.1, 3)
        self.last = torch.nn.Linear(16, 5)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def relative_error(found, exact):
    return ((found.double() - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("bias,affine,groups", [(False, True, 1), (True, False, 2), (True, True, 8)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_become_weights_as_accurately_as_eager(bias, affine, groups, dtype):
    model = Block(bias, affine, groups).eval()
    x = torch.randn(2, 8, 12, 12)
    exact = Block(bias, affine, groups).double().eval()
    model = model.to(dtype)
    exact.load_state_dict(model.state_dict())
    x = x.to(dtype)
    with torch.no_grad():
        reference, eager, found = exact(x.double()), model(x), frozen(model)(x)
    assert found.dtype == dtype and found.stride() == eager.stride()
    assert relative_error(found, reference) <= 1.5 * relative_error(eager, reference) + torch.finfo(dtype).eps / 2
    report = litz.last_report()
    calls = report["library_calls"]
    assert sum(calls.values()) == 2 and not report["extern_calls"], calls
    if dtype == torch.float32:
        assert calls == {"mkldnn._convolution_pointwise": 1, "mkldnn._linear_pointwise": 1}
    assert not any("batch_norm" in name for name in report["kernel_names"])


def test_a_parameter_that_changes_later_is_not_seen_and_another_module_is():
    class Scale(torch.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((4,), value))

        def forward(self, x):
            return x * self.weight.exp()

    first, second = Scale(1.0), Scale(2.0)
    run = frozen(lambda module, x: module(x))
    with torch.no_grad():
        x = torch.ones(4)
        for module in (first, second, first):
            torch.testing.assert_close(run(module, x), module(x))
        before = run(first, x)
        first.weight.fill_(5.0)
        assert torch.equal(run(first, x), before)  # as documented


def test_gradients_and_freezing_exclude_each_other():
    model = Block(True, True).eval()
    with pytest.raises(Exception, match="freezing=True makes parameters constants"):
        with torch.enable_grad():
            frozen(lambda x: model(x))(torch.randn(1, 8, 8, 8))


def test_a_parameter_that_the_graph_writes_stays_an_input():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.count.add_(1)
            return x * self.weight + self.count

    model = Counter()
    run = frozen(model)
    with torch.no_grad():
        assert run(torch.ones(3)).tolist() == [2.0] * 3
        assert run(torch.ones(3)).tolist() == [3.0] * 3
    assert model.count.tolist() == [2.0] * 3


def test_casts_of_weights_under_autocast_are_computed_once():
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
    x = torch.randn(4, 16)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = model(x)
        found = frozen(model)(x)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected.float(), rtol=2e-2, atol=2e-2)


def test_dynamic_sizes_and_freezing():
    model = Block(True, True).eval()
    run = torch.compile(model, backend=litz.backend_entry, dynamic=True, options={"freezing": True, "fallback": "error"})
    with torch.no_grad():
        for n in (2, 3, 5):
            x = torch.randn(n, 8, 8 + n, 9)
            torch.testing.assert_close(run(x), model(x), rtol=1e-4, atol=1e-5)
