"""Interpolation to sizes that are known at the call, by size and by factor: one compile serves two sizes, and gives what eager gives."""

import pytest
import torch
import torch.nn.functional as F

MODES = {"nearest": (3, 4, 5), "nearest-exact": (3, 4, 5), "linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,)}
CASES = [(mode, rank, how) for mode, ranks in MODES.items() for rank in ranks for how in ("size", "factor", "one factor")]


@pytest.mark.parametrize("mode, rank, how", CASES, ids=[f"{m}-{r - 2}d-{h}" for m, r, h in CASES])
def test_sizes_known_at_the_call(mode, rank, how):
    factors = (3.0, 2.0, 4.0)[: rank - 2]

    def resized(x, like):
        if how == "size":
            return F.interpolate(x, size=like.shape[2:], mode=mode) + like
        return F.interpolate(x, scale_factor=factors if how == "factor" else 2, mode=mode) * 2

    torch._dynamo.reset()
    compiled = torch.compile(resized, backend="litz", dynamic=True, options={"fallback": "error"})
    for sizes, others in (((7, 9, 6), (11, 5, 8)), ((8, 10, 5), (6, 12, 7))):
        x, like = torch.randn(2, 3, *sizes[: rank - 2]), torch.randn(2, 3, *others[: rank - 2])
        expected = resized(x, like)
        with torch._dynamo.config.patch(error_on_recompile=True):
            torch.testing.assert_close(compiled(x, like), expected)
