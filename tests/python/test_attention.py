"""Attention keeps a fused kernel whatever the strides of its mask, with eager's results."""

import pytest
import torch
import torch.nn.functional as F

import litz


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


MASKS = {
    "permuted": lambda: torch.randn(1, 20, 20, 4).permute(0, 3, 1, 2),
    "expanded along its rows": lambda: (torch.randn(2, 1, 20, 1)).expand(2, 4, 20, 20),
    "of truth values, expanded everywhere": lambda: (torch.arange(20) < 15)[:, None].expand(2, 4, 20, 20),
    "of one column vector": lambda: torch.randn(20, 1).expand(20, 20),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_with_a_mask_stays_one_call(name):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 20, 16) for _ in range(3))
    mask = MASKS[name]()
    assert mask.stride(-1) != 1
    attend = lambda *a: F.scaled_dot_product_attention(*a[:3], attn_mask=a[3])
    with torch.no_grad():
        actual = torch.compile(attend, backend="litz", options={"fallback": "error"})(q, k, v, mask)
    calls = litz.last_report()["library_calls"]
    assert any("scaled_dot_product" in op for op in calls) and not any("bmm" in op for op in calls), calls
    exact = attend(q.double(), k.double(), v.double(), mask if mask.dtype == torch.bool else mask.double())
    seen = ~exact.isnan()  # a row without any unmasked key
    torch.testing.assert_close(actual[seen].double(), exact[seen], rtol=1e-5, atol=1e-5)


def test_gradients_reach_a_permuted_mask():
    torch.manual_seed(0)
    q = torch.randn(1, 2, 8, 4, requires_grad=True)
    mask = torch.randn(1, 8, 8, 2, requires_grad=True)
    attend = lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m.permute(0, 3, 1, 2)).square().sum()
    torch.compile(attend, backend="litz")(q, mask).backward()
    actual = q.grad.clone(), mask.grad.clone()
    q.grad = mask.grad = None
    attend(q, mask).backward()
    torch.testing.assert_close(actual, (q.grad, mask.grad), rtol=1e-4, atol=1e-5)


def test_torch_is_left_as_it_was():
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    before = dict(torch.ops.aten.scaled_dot_product_attention.default.py_kernels)
    q = torch.randn(1, 2, 8, 4)
    torch.compile(lambda q: F.scaled_dot_product_attention(q, q, q), backend="litz")(q)
    assert torch.ops.aten.scaled_dot_product_attention.default.py_kernels == before and key not in before
