"""The types that the graph's rules infer are torch's, over all pairs of types and classes of operands. A decomposition infers its
result's type and is checked against the type of the value it replaces: here that type is what eager gives."""

import itertools

import torch
from graph_text import call_text
from test_decompositions import tool

aten = torch.ops.aten
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
         torch.bool]
COMPLEX = [torch.complex64, torch.complex128, torch.complex32]


def refused(calls):
    texts, made = [], []
    for op, args, kwargs in calls:
        try:
            texts.append(call_text(op, args, kwargs, op(*args, **kwargs))[0])
            made.append((op, args, kwargs))
        except (RuntimeError, TypeError):  # eager has no kernel for the pair
            continue
    answers = tool("decompose", text="".join(texts)).split("return")
    assert len(answers) == len(texts) + 1
    return len(texts), [f"{call}: {a}" for call, a in zip(made, answers) if "error:" in a]


def ones(dtype, shape):
    return torch.ones(shape, dtype=dtype)


def test_tensors_with_and_without_dimensions_promote_as_in_eager():
    calls = []
    for a, b in itertools.product(TYPES + COMPLEX, repeat=2):
        for shape_a, shape_b in (((3,), (3,)), ((3,), ()), ((), (3,)), ((), ())):
            x, y = ones(a, shape_a), ones(b, shape_b)
            calls += [(aten.max.other, (x, y), {}), (aten.rsub.Tensor, (x, y), {}), (aten.true_divide.Tensor, (x, y), {}),
                      (aten.logaddexp.default, (x, y), {})]
    count, wrong = refused(calls)
    assert count > 1000
    assert not wrong, "\n".join(wrong[:10])


def test_numbers_promote_as_in_eager():
    calls = []
    for dtype in TYPES + COMPLEX:
        for shape in ((3,), ()):
            x = ones(dtype, shape)
            # bfloat16 with a complex number gives bcomplex32, which Litz refuses at import.
            for number in (True, 2, 2.5) if dtype == torch.bfloat16 else (True, 2, 2.5, 1 + 2j):
                for op in (aten.add.Scalar, aten.mul.Scalar, aten.div.Scalar, aten.pow.Tensor_Scalar):
                    calls.append((op, (x, number), {}))
                calls.append((aten.where.ScalarOther, (x != 0, x, number), {}))
                for mode in ("floor", "trunc"):
                    calls.append((aten.div.Scalar_mode, (x, number), dict(rounding_mode=mode)))
    count, wrong = refused(calls)
    assert count > 300
    assert not wrong, "\n".join(wrong[:10])


def test_types_keep_their_names_among_the_many_loops_of_a_kernel():
    def narrowed(x):
        for k in range(24):
            for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
                x = (x - x.amax(1, keepdim=True)).to(dtype) + k
        return x

    torch._dynamo.reset()
    x = torch.randint(-100, 100, (4, 50))
    assert torch.equal(torch.compile(narrowed, backend="litz", options={"fallback": "error"})(x), narrowed(x))
