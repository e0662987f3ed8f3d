"""Compiled random programs (random_programs.py) give what eager gives. `LITZ_PROGRAMS=first:count` runs other seeds."""

import os
import warnings

import pytest
import torch
from random_programs import Program
from torch.fx.experimental.proxy_tensor import make_fx

from litz import _torch
from litz.export import export

FIRST, _, COUNT = os.environ.get("LITZ_PROGRAMS", "0:160").partition(":")
SEEDS = range(int(FIRST), int(FIRST) + int(COUNT))
SHARDS = 8


def traced(program, mode):
    """The graph as AOTAutograd would give it."""
    graph = make_fx(program, tracing_mode=mode, _allow_non_fake_inputs=True)(*program.inputs)
    if any(isinstance(n.target, torch._ops.OpOverload) and n.target._schema.is_mutable for n in graph.graph.nodes):
        graph = make_fx(torch.func.functionalize(graph, remove="mutations"), tracing_mode=mode, _allow_non_fake_inputs=True)(*program.inputs)
    graph.graph.eliminate_dead_code()
    return graph


def difference(got, want, tolerance):
    """Empty, or what is wrong. Integers may differ where roundings decide a comparison: a twentieth of them."""
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype} {list(got.shape)}, eager {want.dtype} {list(want.shape)}"
    if want.numel() == 0:
        return ""
    if not want.is_floating_point():
        share = (got != want).double().mean().item()
        return f"{share:.2f} of the elements differ" if share > 0.05 else ""
    error = (got.double() - want.double()).abs().max().item() / (want.double().abs().max().item() + 1e-3)
    return "" if error < tolerance else f"relative error {error:.3g}"


def failure(seed):
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = Program(seed)
        if not program.outputs:
            return ""
        want = program(*program.inputs)
        try:
            graph = traced(program, "symbolic" if seed % 4 == 0 else "fake")
        except Exception:  # what torch does not trace, Litz does not see
            return ""
        exported = export(graph, "program")
        compiled = exported.builder.compile(["fallback=error"], exported.constants)
        _torch.forget_opaque(exported.opaque)
        got = compiled.callable()(*program.inputs)
        wrong = [f"result {k}: {d}" for k, (g, w) in enumerate(zip(got, want, strict=True)) if (d := difference(g, w, program.tolerance()))]
        return f"seed {seed}: {'; '.join(wrong)}\n{graph.code}" if wrong else ""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_programs(shard):
    failures = [f for seed in SEEDS[shard::SHARDS] if (f := failure(seed))]
    assert not failures, f"{len(failures)} wrong\n" + "\n".join(failures[:3])
