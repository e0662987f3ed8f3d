"""Products of bfloat16 and float16 tensors are as near to float64 as eager's, however the library computes them."""

import pathlib

import pytest
import torch
import torch.nn.functional as F



def relative_error(found, exact):
    return float((found.double() - exact).norm() / exact.norm())


# name: function, shapes of its tensors
PRODUCTS = {
    "mm": (lambda a, b: a @ b, (70, 1500), (1500, 300)),
    "mm of a transposed right side": (lambda a, b: a @ b.t(), (300, 1100), (700, 1100)),
    "mm of a transposed left side": (lambda a, b: a.t() @ b, (700, 30), (700, 40)),
    "a row": (lambda a, b: a @ b.t(), (1, 300), (500, 300)),
    "a column": (lambda a, b: a @ b, (300, 200), (200, 1)),
    "of every second row": (lambda a, b: a[::2] @ b, (100, 64), (64, 33)),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0), (700,), (300, 1500), (1500, 700)),
    "addmm of a column": (lambda c, a, b: torch.addmm(c, a, b), (300, 1), (300, 2500), (2500, 70)),
    "linear and gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), (4, 32, 96), (200, 96), (200,)),
    "many small": (lambda a, b: a @ b, (64, 49, 49), (64, 49, 32)),
    "few large": (lambda a, b: a @ b.transpose(1, 2), (3, 512, 300), (3, 700, 300)),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=2), (64, 1, 32), (64, 49, 49), (64, 49, 32)),
    "of no columns": (lambda a, b: a @ b, (5, 7), (7, 0)),
    "of no terms": (lambda a, b: a @ b, (5, 0), (0, 7)),
    "convolution": (lambda x, w, b: F.conv2d(x, w, b, 2, 1), (8, 3, 40, 41), (16, 3, 3, 3), (16,)),
    "convolution of many images": (lambda x, w: F.relu(F.conv2d(x, w, None, 1, 1)), (33, 32, 56, 56), (8, 32, 3, 3)),
    "convolution of many channels": (lambda x, w, b: F.conv2d(x, w, b, 1, 1), (3, 300, 9, 8), (500, 300, 3, 3), (500,)),
    "many channels last": (
        lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w), (2, 512, 6, 6), (513, 512, 3, 3)),
    "channels last": (lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w, None, 1, 2, 2), (2, 8, 20, 20), (16, 8, 3, 3)),
    "each channel by itself": (lambda x, w: F.conv2d(x, w, None, 1, 1, groups=32), (4, 32, 30, 30), (32, 1, 3, 3)),
    "transposed": (lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1), (4, 16, 16, 16), (16, 8, 4, 4)),
    "of one dimension": (lambda x, w: F.conv1d(x, w), (4, 16, 100), (8, 16, 5)),
    "of three dimensions": (lambda x, w: F.conv3d(x, w), (2, 4, 10, 10, 10), (8, 4, 3, 3, 3)),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_error_and_layout_are_eagers_or_better(name, dtype):
    torch._dynamo.reset()
    torch.manual_seed(0)
    function, *shapes = PRODUCTS[name]
    arguments = [torch.randn(shape).to(dtype) for shape in shapes]
    exact = function(*[a.double() for a in arguments])
    expected = function(*arguments)
    found = torch.compile(function, backend="litz", options={"fallback": "error"})(*arguments)
    assert found.dtype == dtype and found.shape == expected.shape and found.stride() == expected.stride()
    if exact.norm() > 0:
        assert relative_error(found, exact) <= 1.05 * relative_error(expected, exact) + torch.finfo(dtype).eps / 8
    else:
        assert torch.equal(found, expected)


def test_sizes_known_at_the_call_and_gradients():
    torch._dynamo.reset()
    torch.manual_seed(0)
    weight = torch.randn(40, 300).bfloat16().requires_grad_()
    compiled = torch.compile(lambda x: F.linear(x, weight).sum(0), backend="litz", dynamic=True, options={"fallback": "error"})
    for rows in (5, 9, 400):
        x = torch.randn(rows, 300).bfloat16()
        exact = x.double() @ weight.detach().double().t()
        compiled(x).sum().backward()
        assert relative_error(weight.grad, x.double().sum(0).expand(40, 300)) < 0.01
        assert relative_error(compiled(x).detach(), exact.sum(0)) < 0.01
        weight.grad = None


def test_the_program_says_which_products_are_computed_in_float32(tmp_path):
    is_x86 = "vendor_id" in pathlib.Path("/proc/cpuinfo").read_text()
    is_emulated = is_x86 and "avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text()
    for dtype, count in ((torch.bfloat16, int(is_emulated)), (torch.float32, 0)):
        torch._dynamo.reset()
        a, b = torch.randn(64, 64).to(dtype), torch.randn(64, 64).to(dtype)
        folder = tmp_path / str(dtype)
        torch.compile(lambda a, b: a @ b, backend="litz", options={"dump": str(folder)})(a, b)
        wrapper = next(folder.rglob("*build_wrapper.ir")).read_text()
        assert "aten.mm.out" in wrapper and wrapper.count(" in f32\n") == count
