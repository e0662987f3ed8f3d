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
