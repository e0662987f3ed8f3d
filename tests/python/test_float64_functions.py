"""Float64 kernels have vector code for every function, in headers that only they include: values, tails, strides, scalars, accumulators."""

import pytest
import torch

UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc".split()
)
FUNCTIONS = {
    **{name: (lambda x, name=name: getattr(torch, name)(x)) for name in UNARY},
    "pow": lambda x: torch.pow(x, x * 3),
    "atan2": lambda x: torch.atan2(x - 0.5, x.flip(0)),
    "softmax": lambda x: x.softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "gelu": torch.nn.functional.gelu,
    "functions of all headers": lambda x: x.exp() + x.log() * x.sin() - x.erf(),
    "beside float32": lambda x: x.exp().float().exp() + x.float().sin(),
}


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend="litz", options={"fallback": "error"})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_float64_kernel_gives_eagers_values(name):
    f = FUNCTIONS[name]
    x = torch.rand(7, 37, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 0.99 + (name == "acosh")
    for argument in (x, x.t(), x[:, ::3], x[2, 3:4]):
        want, got = f(argument), compiled(f)(argument)
        tolerance = {"rtol": 1e-6, "atol": 1e-6} if want.dtype == torch.float32 else {"rtol": 4e-15, "atol": 1e-15}
        torch.testing.assert_close(got, want, **tolerance)


def test_special_values_are_eagers():
    special = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 1e-300, -1e-300, 1e308, -1e308, 1e22, 700.0, -746.0, 2e5, 0.5, -2.0, 3.0, 2.5]
    x = torch.tensor(special, dtype=torch.float64)
    for name in UNARY:
        f = FUNCTIONS[name]
        want, got = f(x), compiled(f)(x)
        torch.testing.assert_close(got, want, rtol=1e-15, atol=0, equal_nan=True, msg=lambda m, name=name: f"{name}: {m}")
        numbers = ~want.isnan()
        assert torch.equal(want[numbers].signbit(), got[numbers].signbit()), name
    a, b = x.repeat(len(x)), x.repeat_interleave(len(x))
    for name in ("pow", "atan2"):
        f = getattr(torch, name)
        want, got = f(a, b), compiled(f)(a, b)
        torch.testing.assert_close(got, want, rtol=1e-15, atol=0, equal_nan=True, msg=lambda m, name=name: f"{name}: {m}")
