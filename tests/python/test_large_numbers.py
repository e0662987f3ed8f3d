"""Numbers that a user computes from sizes, with steps on the way that no 64 bits hold: Python's integers have no end, and rules that
merge divisions make products that the program never had."""

import pytest
import torch


def compiled(function):
    return torch.compile(function, backend="litz", dynamic=True, options={"fallback": "error"}, fullgraph=True)


SIZES = (50, 64, 128, 1000, 4096)


def divided(steps, factor):
    def run(x):
        n = x.shape[0] * 7919 * 1000003
        for _ in range(steps):
            n = n // (x.shape[0] * factor)
        return x + n, x[: (n % 3) + 1].sum()

    return run


def divided_by_sizes(x):
    n = x.shape[0] * 7919 * 1000003 + 12345
    for _ in range(4):
        n = (n // (x.shape[0] * 4000000) + x.shape[0]) // x.shape[0]
    return x.new_full((3,), n), x + n


def hashed(x):
    return x + x.shape[0] ** 3 * (x.shape[0] + 1) ** 3 * 1000003**3 % 65537


def congruential(x):
    n = x.shape[0]
    for _ in range(3):
        n = (n * 6364136223846793005 + 1442695040888963407) % 1000003
    return x[n % 5 :].clone() + n, x.new_zeros((n % 7 + 1,))


def compared(x):
    n = x.shape[0] ** 6
    return torch.where(x < n * n // (n * n + 1) + 20, x, -x)


def as_an_index(x):
    n = x.shape[0] ** 7 * 1000003 % x.shape[0]
    return x[n] + x[(x * 0 + n).long()]


@pytest.mark.parametrize(
    "function",
    [divided(2, 10), divided(3, 1000000), divided(4, 4000000), divided(11, 12), divided_by_sizes, hashed, congruential, compared, as_an_index],
)
def test_numbers_beyond_64_bits_on_the_way_are_python_s(function):
    fast = compiled(function)
    for size in SIZES:
        x = torch.arange(size)
        for got, wanted in zip(*(r if isinstance(r, tuple) else (r,) for r in (fast(x), function(x))), strict=True):
            assert torch.equal(got, wanted), size


def test_a_number_that_no_tensor_holds_is_refused():
    fast = compiled(lambda x: x + x.shape[0] ** 5 * 10**12)
    x = torch.arange(50)
    assert torch.equal(fast(torch.arange(8)), torch.arange(8) + 8**5 * 10**12)
    with pytest.raises(RuntimeError, match=r"beyond 64 bits from its sizes \(50"):
        fast(x)
    assert torch.equal(fast(torch.arange(9)), torch.arange(9) + 9**5 * 10**12)
