"""Views as tensors in memory: of inputs that begin in the middle of their storage, and those that only the framework can make (complex
numbers, elements of another size). Compared with eager, values and strides."""

import pytest
import torch
import torch.nn.functional as F

BACKEND = dict(backend="litz", options={"fallback": "error"})


def compare(function, inputs, dynamic):
    torch._dynamo.reset()
    want = function(*[x.detach() for x in inputs])
    got = torch.compile(function, dynamic=dynamic, **BACKEND)(*inputs)
    for g, w in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, want)], strict=True):
        assert g.shape == w.shape and g.stride() == w.stride()
        torch.testing.assert_close(g, w, equal_nan=True)


def inside(x, start=2):
    """Equal to x, in the middle of a storage of its own."""
    whole = torch.empty(x.shape[0] + 2 * start, *x.shape[1:], dtype=x.dtype)
    whole.fill_(7)
    part = whole[start : start + x.shape[0]]
    part.copy_(x)
    assert part.storage_offset() > 0
    return part


X = torch.randn(6, 8, 4, generator=torch.Generator().manual_seed(0))
LIBRARY = {
    "mm": lambda x: x[1, 2:] @ x[2, :4],
    "mm of a transposed view": lambda x: x[1].t() @ x[2],
    "linear": lambda x: F.linear(x[2:], x[0, :3]),
    "addmm": lambda x: torch.addmm(x[0, 1], x[1, 2:], x[2, :4]),
    "bmm": lambda x: x[1:] @ x[1:].mT,
    "reshaped": lambda x: x[1:].reshape(-1, 4) @ x[0].t(),
    "convolution": lambda x: F.conv1d(x[1:, 2:], x[:3, 2:, :2]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, 1:3, 2:], x[None, 2:4, 2:], x[None, 3:5, 2:]),
    "sort": lambda x: torch.sort(x[1:, 2:])[0],
    "a view of what an op gave": lambda x: torch.linalg.inv(x[:2, :4])[1:] @ x[0].t(),
    "written": lambda x: (y := x[1:].clone(), y[2:].sort()[0])[1],
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", LIBRARY)
def test_library_calls_on_views_of_inputs_with_an_offset(name, dynamic):
    for x in (X, inside(X)):
        compare(LIBRARY[name], (x,), dynamic)


Z = torch.complex(torch.randn(5, 6, 7), torch.randn(5, 6, 7))
R = torch.randn(6, 8, 4, 2)
FRAMEWORK = {
    "slice": lambda z, r: z[:, 1:5] * 2,
    "slice of a slice": lambda z, r: z[1:, 2:][:, :, 3:] * 2,
    "select": lambda z, r: z[2] * 2,
    "slice of a computed one": lambda z, r: (z * 2)[:, 1:5] + 1,
    "transposed slice": lambda z, r: (z * 2).transpose(0, 1)[1:] + 1,
    "split": lambda z, r: tuple(a + 1 for a in (z * 3).split(2, 1)),
    "unbind": lambda z, r: (z * 3).unbind(1)[2] + 1,
    "chunk returned": lambda z, r: z.chunk(2, 1)[1],
    "diagonal": lambda z, r: torch.diagonal(z[0, :5, 1:6], 1) + 1,
    "as_real": lambda z, r: torch.view_as_real(z)[1:] + 1,
    "as_real of a slice": lambda z, r: torch.view_as_real(z[1:]) + 1,
    "as_real of a computed slice": lambda z, r: torch.view_as_real((z * 2)[1:, 2:]) + 1,
    "as_complex": lambda z, r: torch.view_as_complex(r) * 2,
    "as_complex of a slice": lambda z, r: torch.view_as_complex(r[1:, 2:]) * 2,
    "as_complex of a computed slice": lambda z, r: torch.view_as_complex((r * 2)[1:, 2:]) * 2,
    "as_complex of a permuted one": lambda z, r: torch.view_as_complex((r * 2).permute(1, 0, 2, 3)[1:]) * 2,
    "real": lambda z, r: z[1:].real + 1,
    "imag": lambda z, r: (z * 2)[1:, 1].imag + 1,
    "expanded": lambda z, r: z[1:2].expand(5, 6, 7) * 2,
    "flat": lambda z, r: (z * 2)[1:].reshape(-1)[5:] * 2,
    "same size of elements": lambda z, r: (r * 2)[1:].view(torch.int32) + 1,
    "smaller elements": lambda z, r: (r * 2)[1:].view(torch.int16) + 1,
    "larger elements": lambda z, r: (r * 2)[1:].view(torch.int64) + 1,
    "rotary embedding": lambda z, r: torch.view_as_real(torch.view_as_complex(r[1:6, :7]) * z[:, :1, :4]).flatten(2),
    "as_strided": lambda z, r: (z * 2).as_strided((3, 4), (7, 1), 9) + 1,
    "written slice": lambda z, r: (y := z.clone(), y[1:].mul_(3), y)[2],
    "written real part": lambda z, r: (y := z.clone(), y[1:].real.mul_(3), y)[2],
    "slice_scatter": lambda z, r: torch.slice_scatter(z, (z * 2)[:, 1:3], 1, 2, 4),
    "conjugate": lambda z, r: (z.conj()[1:] * 2).imag,
    "read before and after a write": lambda z, r: (y := r * 2, v := y.view(torch.int16)[..., :2].sum(-1), y.add_(1), v + y.view(torch.int16)[..., 1:3].sum(-1))[3],
    "read after other work": lambda z, r: (y := (r * 2).view(torch.int16), a := (r * 2).sigmoid(), b := (a + 1).exp(), y.float().sum(-1) + b.sum(-1))[3],
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FRAMEWORK)
def test_views_that_the_framework_makes(name, dynamic):
    for inputs in ((Z, R), (inside(Z), inside(R))):
        compare(FRAMEWORK[name], inputs, dynamic)


def test_a_written_input_that_a_view_of_other_elements_reads():
    """The view is read by the kernel that writes, or after it: the input's memory is written last."""

    def within(x):
        v = x.view(torch.int16)
        halves = v[:, ::2] * 1
        x.mul_(2)
        return halves

    def later(x):
        v = x.view(torch.int16)
        x.mul_(2)
        return v.clone() + 1, x.view(torch.int16) + 1

    for function in (within, later):
        torch._dynamo.reset()
        want, got = inside(X[0]), inside(X[0])
        expected, found = function(want), torch.compile(function, **BACKEND)(got)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(found, expected)


def test_gradients_through_complex_views():
    cases = {
        "irfft": lambda x: torch.fft.irfft(x, n=10, dim=1, norm="ortho"),
        "hfft2": lambda x: torch.fft.hfft2(x, s=(3, 10), dim=(1, 2)),
        "stft": lambda x: torch.view_as_real(torch.stft(x[0].reshape(-1), 8, return_complex=True, window=torch.ones(8)))[1:],
        "sgn": lambda x: torch.sgn(torch.view_as_complex(x[..., :2].contiguous())).imag,
    }
    for name, function in cases.items():
        torch._dynamo.reset()
        x = torch.randn(5, 6, 8, generator=torch.Generator().manual_seed(1), requires_grad=True)
        y = function(x)
        seed = torch.randn(y.shape, generator=torch.Generator().manual_seed(2))
        want = torch.autograd.grad(y, x, seed)[0]
        got = torch.autograd.grad(torch.compile(function, **BACKEND)(x), x, seed)[0]
        torch.testing.assert_close(got, want, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_strided_counts_in_the_storage_of_eager(dynamic):
    """Before an input, behind it and inside; of a copy, whose storage begins with it."""
    values = torch.arange(100.0)
    cases = {
        "scatter before": lambda x: torch.as_strided_scatter(x, torch.full((2, 3), -1.0), (2, 3), (4, 1), 5),
        "scatter inside": lambda x: torch.as_strided_scatter(x, torch.full((2, 3), -1.0), (2, 3), (4, 1), 11),
        "read before": lambda x: x.as_strided((2, 3), (4, 1), 5) + 1,
        "read behind": lambda x: x.as_strided((2, 3), (4, 1), 40) + 1,
        "read inside": lambda x: x.as_strided((2, 3), (4, 1), 11) + 1,
        "copied": lambda x: torch.as_strided_copy(x, (2, 3), (4, 1), 40),
        "computed": lambda x: (x * 2).as_strided((2, 3), (4, 1), 3) + 1,
        "written": lambda x: (y := x.clone(), y.as_strided((2, 3), (4, 1), 3).mul_(5), y)[2],
        "written in rows": lambda x: (y := x.contiguous().clone(), y.as_strided((2, 3), (4, 1), 3).mul_(5), y)[2],
    }
    for x in (values[10:34].view(4, 6), values[:24].view(4, 6), values[3:27].view(6, 4).t()):
        for function in cases.values():
            compare(function, (x,), dynamic)


def test_ops_on_complex_numbers_whose_decomposition_is_not_theirs():
    cases = {
        "tril": lambda z, r: z.tril(1),
        "triu": lambda z, r: (z * 2).triu(),
        "count_nonzero": lambda z, r: torch.count_nonzero(z, 1),
        "clamped real part": lambda z, r: z.real.clamp(0, 1) * z,
        "masked": lambda z, r: z.masked_fill(z.real > 0, 1 + 2j),
        "where": lambda z, r: torch.where(z.real > 0, z, 0),
    }
    for function in cases.values():
        compare(function, (Z, R), False)
