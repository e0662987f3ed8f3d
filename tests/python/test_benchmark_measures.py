"""What the benchmark measures with: its own arithmetic, checked on cases small enough to do by hand."""
import math
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import table  # noqa: E402
from benchmarks.float64 import relative_error, run_in_float64  # noqa: E402
from benchmarks.memory import peak_bytes  # noqa: E402
from benchmarks.models import MODELS, build  # noqa: E402
from benchmarks.right import compare, is_right  # noqa: E402


def output(error=1e-7, **changes):
    return {"error": error, "eager_error": 1e-7, "half_ulp": 6e-8, "same_dtype": True, "same_shape": True,
            "same_strides": True, **changes}


def test_an_output_is_right_up_to_one_and_a_half_times_eagers_error_plus_half_an_ulp():
    assert is_right([[output(2.09e-7)]])
    assert not is_right([[output(2.11e-7)]])


@pytest.mark.parametrize("fault", [{"same_strides": False}, {"same_dtype": False}, {"same_shape": False}, {"error": math.nan}])
def test_an_output_with_another_layout_or_nan_is_not_right(fault):
    assert not is_right([[output(), output(**fault)]])


def test_the_median_over_seeds_decides():
    assert is_right([[output()], [output(1.0)], [output()]])
    assert not is_right([[output()], [output(1.0)], [output(1.0)]])


def test_relative_error_is_the_norm_of_the_difference_over_the_norm():
    assert relative_error(torch.tensor([3.0, 4.5]), torch.tensor([3.0, 4.0])) == pytest.approx(0.1)
    assert math.isnan(relative_error(torch.tensor([math.nan]), torch.tensor([1.0])))
    assert math.isnan(relative_error(torch.tensor([1.0]), torch.tensor([math.nan])))


class CastsToFloat32(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float32).float() / 3


def test_the_reference_keeps_float64_where_the_model_casts_to_float32():
    x = torch.tensor([1.0])
    result = run_in_float64(CastsToFloat32(), {"x": x})
    assert result.dtype == torch.float64 and result.item() == 1.0 / 3.0


def test_a_compiled_model_that_is_off_by_a_thousandth_is_not_right():
    module, inputs = build("mixer_b16", small=True)
    rows = compare(module, module, inputs)
    assert is_right([rows]) and rows[0]["error"] == rows[0]["eager_error"] > 0
    assert not is_right([compare(lambda **given: module(**given) * 1.001, module, inputs)])


def test_peak_bytes_counts_what_lives_at_one_time():
    mebibyte = 1 << 18  # float32 values

    def call():
        first = torch.empty(mebibyte)
        del first
        second, third = torch.empty(mebibyte), torch.empty(mebibyte)
        del second
        return third

    assert peak_bytes(call) == pytest.approx(2 << 20, rel=0.01)


def test_no_model_has_a_parameter_that_is_all_zero():
    for name in MODELS:
        module, _ = build(name, small=True)
        for parameter_name, parameter in module.named_parameters():
            assert parameter.detach().abs().max() > 0, f"{name}: {parameter_name}"


def test_tables_name_the_models_that_miss_a_target():
    def speed(model, litz_ms):
        ms = {"eager": 10.0, "litz": litz_ms}
        return {"model": model, "dtype": "float32", "ms": ms, "speedup": {"litz": 10.0 / litz_ms}, "failed": {}}

    text = table._speed([speed("quick", 5.0), speed("slow", 20.0)], "float32")
    assert "Under 0.97x eager: slow." in text
    assert "| geometric mean |  |  | 1.000 |" in text

    calls = [{"model": "m", "dtype": "float32", "backend": b, "seconds": s} for b, s in (("aot_eager", 3.0), ("litz", 4.6))]
    assert "Over capture + 1.5 s: m." in table._first_call(calls, "float32")
