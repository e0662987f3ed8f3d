"""Every op of PyTorch's own sample database, eager beside Litz: graphs of one op, traced without Dynamo, compiled and run.

`LITZ_OPINFO=samples[:shard/shards]` (default 1) takes more samples per op and data type, or a part of the ops; `LITZ_OPINFO_DEVICE=cuda`
runs them there (compare_on_device.py runs them all). A value is right if it is
within torch's tolerance of eager, or if its error against float64 is at most twice eager's plus that tolerance.
"""

import itertools
import os
import warnings

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from litz import _C, _torch
from litz.export import export

SAMPLES, _, SHARD = os.environ.get("LITZ_OPINFO", "1").partition(":")
FIRST, _, SHARDS = (SHARD or "0/1").partition("/")
DEVICE = os.environ.get("LITZ_OPINFO_DEVICE", "cpu")
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)
WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float64}

# What a call gives is not defined by its arguments: only metadata is compared.
UNDEFINED_VALUES = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
# Not a function of tensors that returns tensors, or an algorithm whose result is not unique (signs of eigenvectors, kinds of pivots).
NOT_COMPARABLE = {
    "eig", "eigh", "svd", "lobpcg", "qr", "geqrf", "householder", "lstsq", "linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr", "linalg.lstsq",
    "svd_lowrank", "pca_lowrank", "linalg.pinv", "ormqr", "linalg.householder_product", "item", "equal", "is_set_to", "allclose", "tolist",
    "histogramdd", "histc", "stft", "istft", "linalg.ldl_factor", "linalg.ldl_factor_ex", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "to_sparse", "sparse.mm", "sparse.sampled_addmm", "sparse.mm", "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward", "jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
    "jiterator_2inputs_2outputs", "jiterator_binary_return_by_ref",
}  # fmt: skip


def names():
    by_name = {}
    for op in op_db:
        by_name.setdefault(op.name, []).append(op)
    chosen = [name for name in sorted(by_name) if name not in NOT_COMPARABLE]
    return by_name, chosen[int(FIRST) :: int(SHARDS)]


BY_NAME, NAMES = names()


def cases(op, dtype):
    """The largest of the first samples: the very first ones are often scalars."""
    if dtype not in op.supported_dtypes(DEVICE):
        return []
    torch.manual_seed(0)
    first = itertools.islice(op.sample_inputs(DEVICE, dtype, requires_grad=False), 8)
    return sorted(first, key=lambda s: -sum(t.numel() for t in pytree.tree_leaves((s.input, s.args)) if isinstance(t, torch.Tensor)))[: int(SAMPLES)]


def flat_call(op, sample):
    """The call as a function of its plain tensors, and these tensors; None if it is not such a call."""
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[i] for i in places]
    if any(t.layout is not torch.strided or t.is_complex() for t in tensors):
        return None, None

    def call(*values):
        filled = list(leaves)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        input, args, kwargs = pytree.tree_unflatten(filled, spec)
        results = op(input, *args, **kwargs)
        return [r for r in pytree.tree_leaves(results) if isinstance(r, torch.Tensor)]

    return call, tensors


def widened(call, tensors):
    try:
        return call(*[t.to(WIDER.get(t.dtype, t.dtype)) for t in tensors])
    except Exception:
        return None


def copies(tensors):
    return [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).copy_(t) if t.numel() and 0 not in t.stride() else t.clone() for t in tensors]


def compare(name, call, tensors, got, want):
    assert len(got) == len(want)
    for place, (g, w) in enumerate(zip(got, want, strict=True)):
        assert (g.dtype, g.shape) == (w.dtype, w.shape), f"result {place}: {g.dtype} {list(g.shape)}, eager {w.dtype} {list(w.shape)}"
        if name in UNDEFINED_VALUES:
            continue
        try:
            torch.testing.assert_close(g, w, equal_nan=True)
        except AssertionError:
            if not w.is_floating_point():
                raise
            reference = widened(call, tensors)
            if reference is None or len(reference) != len(want):
                raise
            r = reference[place].double()
            rtol, atol = {torch.float32: (1.3e-6, 1e-5)}.get(w.dtype, (1.6e-2, 1e-5))
            allowed = 2 * (w.double() - r).abs() + atol + rtol * r.abs()
            error = (g.double() - r).abs()
            same = (g.double() == r) | (g.isnan() & r.isnan()) | (g == w)
            if not (same | (error <= allowed)).all():
                raise


def failures_of(name):
    """(what is wrong with each sample that is wrong, how many samples ran)."""
    failures, ran = [], 0
    for op in BY_NAME[name]:
        for dtype in DTYPES:
            for sample in cases(op, dtype):
                call, tensors = flat_call(op, sample)
                if call is None:
                    continue
                outcome = run_one(name, call, tensors)
                ran += outcome is not None
                if outcome:
                    failures.append(f"{op.variant_test_name or name} {dtype} {sample.summary()[:300]}: {outcome}")
    return failures, ran


@pytest.mark.parametrize("name", NAMES)
def test_an_op_gives_what_eager_gives(name):
    failures, RAN[name] = failures_of(name)
    assert not failures, f"{len(failures)} of {RAN[name]} samples\n" + "\n".join(failures[:4])


def trace(call, tensors):
    """The graph as AOTAutograd would give it: ATen ops that write nothing."""
    graph = make_fx(call, tracing_mode="fake", _allow_non_fake_inputs=True)(*copies(tensors))
    if any(isinstance(n.target, torch._ops.OpOverload) and n.target._schema.is_mutable for n in graph.graph.nodes):
        graph = make_fx(torch.func.functionalize(graph, remove="mutations"), tracing_mode="fake", _allow_non_fake_inputs=True)(*copies(tensors))
    return graph


def run_one(name, call, tensors):
    """None: this is no call to compare; "": right; else what is wrong."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            graph = trace(call, tensors)
            torch.manual_seed(42)
            want = call(*copies(tensors))
        except Exception:  # data-dependent, or not traceable: nothing that Litz sees
            return None
        if not want or any(w.layout is not torch.strided for w in want):
            return None
        graph.graph.eliminate_dead_code()
        try:
            exported = export(graph, "op")
            program = exported.builder.compile(["fallback=error"], exported.constants)
            _torch.forget_opaque(exported.opaque)
            torch.manual_seed(42)
            got = program.callable()(*copies(tensors))
            compare(name, call, tensors, got, want)
        except _C.Unsupported as reason:
            return f"not taken: {reason}"
        except (AssertionError, RuntimeError, IndexError, TypeError, ValueError) as failure:
            return f"{type(failure).__name__}: {failure}"[:700]
    return ""


RAN = {}


def test_most_ops_were_compared():
    """The filters above leave the bulk of the database."""
    if len(RAN) == len(NAMES):
        assert sum(count > 0 for count in RAN.values()) > 0.85 * len(NAMES)
