"""Constants are computed at compile time as eager computes them, to the bit of NaN, infinities and zeros."""

import math
import pathlib
import subprocess

import litz
import pytest
import torch


@pytest.fixture
def folded(tmp_path):
    """The graph after the stage, from the command line."""

    def run(text, *options):
        file = tmp_path / "graph.ir"
        file.write_text(text)
        command = [pathlib.Path(litz.__file__).parent / "bin" / "litz", "opt", file, "--to", "merge_common_subexpressions", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run


def compile_and_compare(function, *inputs, exact=True):
    torch._dynamo.reset()
    expected = function(*inputs)
    found = torch.compile(function, backend=litz.backend_entry, options={"fallback": "error"})(*inputs)
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        if exact:
            size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
            nan = a.isnan() if a.is_floating_point() else torch.zeros_like(a, dtype=torch.bool)
            assert torch.equal(nan, b.isnan() if b.is_floating_point() else nan)
            assert torch.equal(a.view(size)[~nan], b.view(size)[~nan])
        else:
            torch.testing.assert_close(b, a, equal_nan=True)
    return litz.last_report()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_a_uniform_value_is_a_number_with_every_rounding_on_its_way(dtype):
    values = [0.0, -0.0, math.inf, -math.inf, math.nan, 1 / 3, 1e30, -7.0]

    def scaled(x):
        made = [torch.full((4, 3), value).to(dtype).to(torch.float32) * 3 for value in values]
        # The sign of a NaN is nobody's promise.
        return tuple(x + c for c in made) + tuple(torch.copysign(x, c) for c, value in zip(made, values, strict=True) if value == value)

    compile_and_compare(scaled, torch.tensor([[1.0, -2.0, 0.5]] * 4))

    def chosen(x):
        return tuple(torch.where(x > 0, torch.full((3,), value).to(dtype).neg(), torch.full((3,), -1.0, dtype=dtype)) for value in values)

    compile_and_compare(chosen, torch.tensor([1.0, -2.0, 3.0]))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool, torch.int8])
def test_integers_and_booleans_wrap_as_eager_does(dtype):
    def function(x):
        c = (torch.full((5,), 300) * torch.full((5,), 3)).to(dtype)
        return torch.where(x > 0, c, torch.zeros(5, dtype=dtype)), x + torch.full((5,), 2**62)

    compile_and_compare(function, torch.arange(5))


def test_a_lifted_tensor_is_data_of_the_program(folded):
    def function(x):
        table = torch.tensor([0.1, math.nan, -0.0, math.inf, 2.0]).exp().cumsum(0)
        return (x + table,)

    compile_and_compare(function, torch.ones(5), exact=False)
    text = folded(
        "graph g\nschema aten::exp(Tensor self) -> Tensor\nschema aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\nschema aten::mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "input %x : f32[4]\n%f = aten.full([4], 0) -> f32[4]\n%e = aten.exp(%f) -> f32[4]\n%y = aten.mul.Tensor(%x, %e) -> f32[4]\nreturn %y\n"
    )
    assert "aten.exp(" not in text and "full([4], 1.0, dtype=f32" in text


def test_positions_made_of_logarithms_become_one_table():
    def function(x):
        distance = torch.arange(32)[None, :] - torch.arange(32)[:, None]
        bucket = (torch.log(distance.abs().float().clamp(min=1) / 8) / math.log(16) * 8).long()
        return (x[bucket.clamp(0, 7)],)

    report = compile_and_compare(function, torch.randn(8, 4))
    assert report["kernels"] == 1 and not report["extern_calls"]


def test_a_dynamic_size_is_not_folded():
    def function(x):
        return (x + torch.full((x.shape[0],), 2.0).exp(),)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=litz.backend_entry, dynamic=True, options={"fallback": "error"})
    for n in (3, 8, 17):
        torch.testing.assert_close(compiled(torch.ones(n))[0], function(torch.ones(n))[0])


def test_what_raises_at_run_time_still_raises():
    def function(x):
        table = torch.arange(4)
        return (x + table[torch.full((2,), 9)],)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=litz.backend_entry, options={"fallback": "error"})
    with pytest.raises(IndexError):
        compiled(torch.zeros(2))


def test_a_constant_that_nothing_reads_is_not_asked_for():
    def function(x):
        unused = torch.tensor([1.0, 2.0, 3.0])
        used = torch.tensor([4.0, 5.0, 6.0])
        _ = unused * 2
        return (x + used,)

    compile_and_compare(function, torch.zeros(3))


def test_folded_data_reaches_library_calls_and_views_of_it():
    def function(x):
        weight = torch.linspace(0, 1, 12).reshape(3, 4).exp()
        return x @ weight.t(), x + weight[1]

    compile_and_compare(function, torch.randn(2, 4), exact=False)


def test_strict_numerics_computes_at_run_time(folded):
    graph = ("graph g\nschema aten::exp(Tensor self) -> Tensor\nschema aten::mul.Tensor(Tensor self, Tensor other) -> Tensor\nschema prims::iota(SymInt "
             "length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor\n"
             "input %x : f32[4]\n%i = prims.iota(4, start=0, step=1, dtype=f32, device=cpu, requires_grad=False) -> f32[4]\n"
             "%e = aten.exp(%i) -> f32[4]\n%y = aten.mul.Tensor(%x, %e) -> f32[4]\nreturn %y\n")  # fmt: skip
    assert "aten.exp(" not in folded(graph)
    assert "aten.exp(" in folded(graph, "--option", "numerics=strict")
