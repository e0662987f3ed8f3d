"""Is the answer right: error against float64 beside eager's own, strides, and one compile for all sizes."""
from __future__ import annotations

import statistics

import torch

from benchmarks.backends import compile_with
from benchmarks.float64 import half_ulp, relative_error, run_in_float64
from benchmarks.models import MODELS, build, cast, outputs


def resized(model: str, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Inputs of other sizes in the dimensions that the model lets vary (a size of 1 stays: torch specialises on it).

    New tensors, not views: the stride of a row cut out of a longer one differs from its length, on which Dynamo guards.
    """
    changed = {}
    for key, value in inputs.items():
        for dimension in MODELS[model].dynamic[key]:
            size = value.shape[dimension]
            if size == 2:
                value = torch.cat([value, value.narrow(dimension, 0, 1)], dimension)
            elif size > 2:
                value = value.narrow(dimension, 0, size * 3 // 4)
        changed[key] = value.clone(memory_format=torch.contiguous_format)
    return changed


def known_answers(module: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """What `module` gives in float64 and what it gives eagerly, output by output."""
    with torch.no_grad():
        return outputs(run_in_float64(module, inputs)), outputs(module(**inputs))


def errors(compiled, inputs: dict[str, torch.Tensor], known: tuple[list[torch.Tensor], list[torch.Tensor]]) -> list[dict]:
    """One row an output: the error of `compiled` and of eager against float64, and whether the strides are eager's."""
    reference, expected = known
    with torch.no_grad():
        actual = outputs(compiled(**inputs))
    assert len(expected) == len(actual) == len(reference), "the compiled model returns another number of tensors"
    return [
        {
            "error": relative_error(a, r), "eager_error": relative_error(e, r), "half_ulp": half_ulp(e.dtype),
            "same_dtype": a.dtype == e.dtype, "same_shape": a.shape == e.shape, "same_strides": a.stride() == e.stride(),
        }
        for a, e, r in zip(actual, expected, reference)
    ]


def compare(compiled, module: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> list[dict]:
    """`errors` of `compiled` beside those of `module`, which it was compiled from."""
    return errors(compiled, inputs, known_answers(module, inputs))


def is_right(rows: list[list[dict]]) -> bool:
    """The target: per output, the median error over the seeds is at most 1.5 times eager's plus half an ulp."""
    for per_output in zip(*rows):
        error = statistics.median(row["error"] for row in per_output)
        eager_error = statistics.median(row["eager_error"] for row in per_output)
        if not error <= 1.5 * eager_error + per_output[0]["half_ulp"]:
            return False
        if not all(row["same_dtype"] and row["same_shape"] and row["same_strides"] for row in per_output):
            return False
    return True


def measure(model: str, dtype: str, backend: str, seeds: int = 3) -> dict:
    """Two rows: errors of a compile for one size and of a compile with `dynamic=True`, which meets another size too.

    `seeds` sets of weights and inputs are given to one compiled module: new weights are copied into it, and a compiler
    that kept the old ones would show. What eager and float64 give is computed once for both rows.
    """
    known: list[tuple] = []
    rows = []
    for dynamic in (False, True):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        module, inputs = cast(*build(model), getattr(torch, dtype))
        compiled = compile_with(backend, module, dynamic=True if dynamic else None)
        found, other_size = [], None
        for seed in range(seeds):
            if seed:
                fresh, inputs = cast(*build(model, seed=seed), getattr(torch, dtype))
                module.load_state_dict(fresh.state_dict())
            if seed == len(known):
                known.append(known_answers(module, inputs))
            found.append(errors(compiled, inputs, known[seed]))
        if dynamic:
            other_size = compare(compiled, module, resized(model, inputs))
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        right = is_right(found) and (not dynamic or (is_right([other_size]) and graphs == 1))
        rows.append({"dynamic": dynamic, "right": right, "outputs": found, "other_size": other_size, "graphs": graphs})
    return {"rows": rows}
