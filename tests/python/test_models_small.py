"""The twelve models of the benchmark in small configurations: Litz against float64, beside eager's own error."""
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.float64 import relative_error  # noqa: E402
from benchmarks.models import MODELS, build, cast, outputs  # noqa: E402
from benchmarks.right import compare, is_right, resized  # noqa: E402

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def compile_strictly(module, dynamic):
    """Compiled by Litz with nothing to fall back on: a graph that Litz does not take is an error."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    return torch.compile(module, backend="litz", dynamic=dynamic, fullgraph=True, options={"fallback": "error"})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", MODELS)
def test_a_small_model_is_as_accurate_as_eager(model, dtype):
    module, inputs = cast(*build(model, small=True), DTYPES[dtype])
    compiled = compile_strictly(module, dynamic=False)
    rows = []
    for seed in range(3):
        fresh, inputs = cast(*build(model, small=True, seed=seed), DTYPES[dtype])
        module.load_state_dict(fresh.state_dict())  # parameters are inputs: no new compile, and no stale weights
        rows.append(compare(compiled, module, inputs))
    assert is_right(rows), rows
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", MODELS)
def test_one_dynamic_compile_of_a_small_model_serves_other_sizes(model, dtype):
    module, inputs = cast(*build(model, small=True), DTYPES[dtype])
    compiled = compile_strictly(module, dynamic=True)
    rows = [compare(compiled, module, inputs)]
    other = resized(model, inputs)
    assert any(other[key].shape != inputs[key].shape for key in inputs)
    assert is_right(rows), rows
    assert is_right([compare(compiled, module, other)])
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("model", ["resnet50", "vit_base", "gpt2"])
def test_gradients_of_a_small_model_in_train_mode_are_as_accurate_as_eager(model):
    """Dropout draws eager's values from eager's seed, so the gradients of both belong to the same function."""
    module, inputs = build(model, small=True)
    module.train()
    compiled = compile_strictly(module, dynamic=False)

    def gradients(call):
        torch.manual_seed(7)
        state = {k: v.clone() for k, v in module.state_dict().items()}
        module.zero_grad(set_to_none=True)
        sum(out.float().square().mean() for out in outputs(call(**inputs))).backward()
        found = {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}
        buffers = {name: b.clone() for name, b in module.named_buffers()}
        module.load_state_dict(state)  # running statistics as before the call
        return found, buffers

    expected, expected_buffers = gradients(module)
    actual, actual_buffers = gradients(compiled)
    assert actual.keys() == expected.keys() and expected
    # Eager itself is within 6e-6 of float64 here.
    for name, gradient in expected.items():
        assert relative_error(actual[name], gradient) < 5e-5, name
    for name, buffer in expected_buffers.items():
        assert relative_error(actual_buffers[name], buffer) < 1e-5, name
