"""Scatters into the results of scatters, of tensors that lie in memory in every way: one memory, one layout. Compared with eager."""

import pytest
import torch


def columns(x):
    """Equal to x, with the first dimension the innermost."""
    order = list(range(x.dim()))[::-1]
    return torch.empty([x.shape[k] for k in order], dtype=x.dtype).permute(order).copy_(x)


CHAINS = {
    "reduce without self": lambda x, i, s: x.scatter_reduce(0, i, s, "sum", include_self=False),
    "mean without self": lambda x, i, s: x.scatter_reduce(0, i, s, "mean", include_self=False),
    "two": lambda x, i, s: x.scatter(0, i, s).scatter_add(0, i, s * 2),
    "two, transposed": lambda x, i, s: x.t().scatter(1, i.t(), s.t()).scatter_add(1, i.t(), s.t() * 2),
    "two of a computed one": lambda x, i, s: (x * 2).t().contiguous().t().scatter(0, i, s).scatter_add(0, i, s * 2),
    "three": lambda x, i, s: x.scatter(0, i, s).scatter_add(0, i, s * 2).scatter_reduce(0, i, s, "amax"),
    "returned transposed": lambda x, i, s: x.scatter(0, i, s).scatter_add(0, i, s * 2).t(),
    "index_put": lambda x, i, s: x.index_put((i[0],), s[:1].expand(5, 5)).index_put((i[1],), s, accumulate=True),
    "slices": lambda x, i, s: torch.slice_scatter(torch.slice_scatter(x, s, 0, 0, 5), s, 0, 2, 7),
    "diagonal of a row": lambda x, i, s: torch.diagonal_scatter(torch.select_scatter(x, s[0], 0, 1), s[1], 0),
    "index_add and others": lambda x, i, s: x.index_add(0, i[0], s).index_copy(0, torch.arange(5), s).index_fill(0, i[2], 1.0),
    "into a product": lambda x, i, s: x.scatter(0, i, s).scatter_add(0, i, s).t() @ x,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_scatters(name, dynamic):
    torch.manual_seed(0)
    inputs = torch.randn(10, 5), torch.stack([torch.randperm(10)[:5] for _ in range(5)]).t(), torch.randn(5, 5)
    torch._dynamo.reset()
    compiled = torch.compile(CHAINS[name], backend="litz", dynamic=dynamic, options={"fallback": "error"})
    for mask in range(8):
        laid = [columns(x) if mask >> k & 1 else x.contiguous() for k, x in enumerate(inputs)]
        want, got = CHAINS[name](*laid), compiled(*laid)
        assert got.stride() == want.stride()
        torch.testing.assert_close(got, want)
