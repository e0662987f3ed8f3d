"""Numbers of calls that capture left symbolic (dynamic=True): orders, dimensions, factors, not sizes alone. Compared with eager."""

import pytest
import torch
import torch.nn.functional as F

# name -> function of a tensor [6, 6], a number p, a dimension d and a small count k
CALLS = {
    "vector_norm": lambda x, p, d, k: torch.linalg.vector_norm(x, ord=p),
    "norm": lambda x, p, d, k: torch.norm(x, p),
    "sum": lambda x, p, d, k: x.sum(d),
    "var": lambda x, p, d, k: x.var(0, correction=k),
    "logsumexp": lambda x, p, d, k: torch.logsumexp(x, d),
    "cumsum": lambda x, p, d, k: x.cumsum(d),
    "clamp": lambda x, p, d, k: torch.clamp(x, -p, p),
    "pow": lambda x, p, d, k: x**p,
    "add": lambda x, p, d, k: torch.add(x, x, alpha=p),
    "addmm": lambda x, p, d, k: x.addmm(x.mT, x * 2, beta=k, alpha=p),
    "leaky_relu": lambda x, p, d, k: F.leaky_relu(x, p * 0.1),
    "elu": lambda x, p, d, k: F.elu(x, p),
    "threshold": lambda x, p, d, k: F.threshold(x, 0, p),
    "fmod": lambda x, p, d, k: torch.fmod(x, p),
    "masked_fill": lambda x, p, d, k: torch.masked_fill(x, x > 0, p),
    "nan_to_num": lambda x, p, d, k: torch.nan_to_num(x, p),
    "round": lambda x, p, d, k: torch.round(x, decimals=k),
    "cdist": lambda x, p, d, k: torch.cdist(x, x, p),
    "roll": lambda x, p, d, k: x.roll(k, 0),
    "pad": lambda x, p, d, k: F.pad(x, (k, k)),
    "diagonal": lambda x, p, d, k: x.diagonal(k),
    "tril": lambda x, p, d, k: x.tril(k),
    "unflatten": lambda x, p, d, k: x.unflatten(0, (k, -1)),
    "unfold": lambda x, p, d, k: x.unfold(0, k + 1, 1),
    "chunk": lambda x, p, d, k: torch.chunk(x, k)[0],
    "topk": lambda x, p, d, k: x.topk(k)[0],
    "avg_pool": lambda x, p, d, k: F.avg_pool1d(x[None], k + 1),
    "max_pool": lambda x, p, d, k: F.max_pool1d(x[None], k + 1),
    "full": lambda x, p, d, k: torch.full((k, 3), p),
    "arange": lambda x, p, d, k: torch.arange(0, k * 7, p),
    "linspace": lambda x, p, d, k: torch.linspace(0, p, k + 5),
    "eye": lambda x, p, d, k: torch.eye(k + 3),
    "interpolate": lambda x, p, d, k: F.interpolate(x[None, None], scale_factor=k),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_symbolic_number_gives_what_eager_gives(name):
    torch._dynamo.reset()
    compiled = torch.compile(CALLS[name], backend="litz", dynamic=True, options={"fallback": "error"})
    for p, d, k in ((3, 1, 2), (4, 0, 3)):
        x = torch.randn(6, 6, generator=torch.Generator().manual_seed(p))
        want, got = CALLS[name](x, p, d, k), compiled(x, p, d, k)
        assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
        torch.testing.assert_close(got, want, equal_nan=True)


def test_zeros_that_autograd_makes_lie_where_eager_puts_them():
    x = torch.randn(4, 4, requires_grad=True)
    y = torch.compile(torch.sgn, backend="litz", options={"fallback": "error"})(x)
    assert torch.autograd.grad(y, x, torch.ones_like(y))[0].equal(torch.zeros(4, 4))


def test_an_op_that_takes_a_device_gets_that_of_its_inputs():
    compiled = torch.compile(lambda x: (x + 1, torch.randperm(5, device=x.device)), backend="litz", options={"fallback": "error"})
    assert [y.device for y in compiled(torch.ones(3))] == [torch.device("cpu")] * 2
