"""A scan starts anew in every row, also where rows have one element and what reads the scan runs over rows. Compared with eager."""

import pytest
import torch

READERS = {
    "a sum over rows": lambda c: c.sum(1),
    "a norm and what it divides": lambda c: c / (c.norm(dim=1, keepdim=True) + 1),
    "a softmax": lambda c: c.softmax(1),
    "a maximum with its place": lambda c: c.max(1)[0] + c.max(1)[1],
    "a sum and the scan itself": lambda c: (c + 1, c.sum(1)),
    "another scan": lambda c: c.cumsum(1),
}
SCANS = {
    "cumsum": lambda x, d: x.cumsum(d),
    "cumprod": lambda x, d: x.cumprod(d),
    "logcumsumexp": lambda x, d: x.logcumsumexp(d),
    "cummax": lambda x, d: x.cummax(d)[0],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("scan", SCANS)
def test_what_reads_a_scan(scan, reader):
    function = lambda x, d: READERS[reader](SCANS[scan](x, d))  # noqa: E731
    for sizes in ((17, 2, 1), (17, 2, 3), (1, 5, 4)):
        for dim in (0, 2):
            torch._dynamo.reset()
            x = torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))
            want, got = function(x, dim), torch.compile(function, backend="litz", options={"fallback": "error"})(x, dim)
            for g, w in zip(*[y if isinstance(y, tuple) else (y,) for y in (got, want)], strict=True):
                torch.testing.assert_close(g, w)


def test_a_scan_of_what_the_kernel_itself_stores_in_another_order():
    def function(x):
        a = x[0] * 2
        return a.flip(1).cumsum(1), a.view(1, 34).diagonal(), a.view(1, 34).roll((1, -1), (0, 1)) * 2

    torch._dynamo.reset()
    x = torch.randn(3, 1, 34, generator=torch.Generator().manual_seed(0))
    for got, want in zip(torch.compile(function, backend="litz", options={"fallback": "error"})(x), function(x), strict=True):
        torch.testing.assert_close(got, want)


def test_groups_that_span_much_of_the_program_form_no_cycle():
    places = torch.randint(0, 9, (9, 1), generator=torch.Generator().manual_seed(0))

    def function(x):
        y = x.clone()
        y[:, 0:1].mul_(3)
        normal = torch.nn.functional.layer_norm(x, (1,))
        turned = normal.roll((1, -1), (0, 1)) * 2
        gathered = (y / (y.norm(dim=1, keepdim=True) + 1)).gather(0, places)
        return y, turned, gathered, gathered.split(4)[2] * normal

    torch._dynamo.reset()
    x = torch.randn(9, 1, generator=torch.Generator().manual_seed(1))
    for got, want in zip(torch.compile(function, backend="litz", options={"fallback": "error"})(x), function(x), strict=True):
        torch.testing.assert_close(got, want)
