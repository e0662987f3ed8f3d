"""Integer division inside what is padded, shifted or cut into pieces: only quotients that eager computes may raise."""

import litz
import pytest
import torch


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=litz.backend_entry, options={"fallback": "error"})


@pytest.mark.parametrize("divide", [torch.floor_divide, torch.remainder, torch.fmod, lambda a, b: torch.div(a, b, rounding_mode="trunc")])
def test_a_padded_quotient_divides_nothing_behind_its_end(divide):
    def function(x, y):
        q = divide(x, y)
        return torch.nn.functional.pad(q, (1, 2)), torch.cat([q, q + 1]), torch.nn.functional.pad(divide(x, torch.nn.functional.pad(y, (0, 0), value=3)), (3, 0), value=7)

    x, y = torch.tensor([7, -7, 5, 9, -2]), torch.tensor([2, 3, -1, 4, 5])
    for found, expected in zip(compiled(function)(x, y), function(x, y), strict=True):
        assert torch.equal(found, expected)


def test_a_zero_that_eager_divides_by_still_raises():
    def function(x, y):
        return torch.nn.functional.pad(x // y, (0, 2))

    with pytest.raises((ZeroDivisionError, RuntimeError), match="(?i)zero"):
        compiled(function)(torch.tensor([1, 2]), torch.tensor([1, 0]))
