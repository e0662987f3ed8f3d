"""Ops whose result's size only the run knows: as many elements as there can be at most, and as few, from one compile."""

import pytest
import torch

PROGRAMS = {
    "masked_select": (lambda x, m: torch.masked_select(x, m) * 2, lambda p: (torch.randn(10, 10), torch.rand(10, 10) < p)),
    "masked_select of a broadcast tensor": (lambda x, m: torch.masked_select(x, m) + 1, lambda p: (torch.randn(10, 1, 10), torch.rand(10, 10) < p)),
    "masked_select by a broadcast mask": (lambda x, m: torch.masked_select(x, m) + 1, lambda p: (torch.randn(10, 10), torch.rand(10, 1) < p)),
    "nonzero": (lambda x, m: torch.nonzero(m) * 2, lambda p: (torch.randn(3), torch.rand(4, 5) < p)),
    "a mask as an index": (lambda x, m: x[m] - 1, lambda p: (torch.randn(4, 5), torch.rand(4, 5) < p)),
    "unique": (lambda x, m: torch.unique((x * 10).long()) + 1, lambda p: (torch.rand(20) * p, None)),
    "unique along a dimension": (lambda x, m: torch.unique((x * 2).long(), dim=0) + 1, lambda p: (torch.rand(12, 2) * p, None)),
    "unique_consecutive": (lambda x, m: torch.unique_consecutive((x * 10).long()) + 1, lambda p: (torch.rand(20) * p, None)),
    "repeat_interleave": (lambda x, m: torch.repeat_interleave(x, m) + 1, lambda p: (torch.randn(6), torch.randint(0, int(40 * p) + 1, (6,)))),
    "bincount": (lambda x, m: torch.bincount(m) * 2, lambda p: (None, torch.randint(0, int(300 * p) + 1, (7,)))),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("what", PROGRAMS)
def test_any_size_that_can_occur(what, dynamic):
    function, inputs = PROGRAMS[what]
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend="litz", dynamic=dynamic, fullgraph=True, options={"fallback": "error"})
        for share in (0.5, 1.0, 0.0, 0.1):
            given = inputs(share)
            expected = function(*given)
            with torch._dynamo.config.patch(error_on_recompile=True):
                torch.testing.assert_close(compiled(*given), expected)
