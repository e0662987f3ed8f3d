"""Sizes that are made with floats: what a definition computes is what Python and SymPy compute, and one compile serves all sizes."""

import math
import pathlib
import random
import struct
import subprocess

import pytest
import sympy
import torch
import torch.nn.functional as F
from torch.utils._sympy import functions as sf
from torch.utils._sympy.value_ranges import ValueRanges

from litz._sizes import Sizes
from test_symbolic_sympy import ROOT, calculate

FLOATS = [0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.5, -2.5, 3.0, 7.25, -0.75, 1e-3, 123456.789, 2.675, 1250.0, 1e15 + 0.3, 1e300, -1e17, math.inf, math.nan, 5e-324]
INTEGERS = [0, 1, -1, 2, 3, 7, -5, 63, 64, 1000, 2**53 + 1, -(2**62), 2**63 - 1, 3**39]


def round_places(x, places):
    return float(round(x, places))


def exact_power(a, b):
    if b < 0:
        raise ValueError
    return a**b


# name -> (kinds of operands, the same in Python)
FUNCTIONS = {
    "to_float": ("i", float), "trunc": ("f", math.trunc), "floor": ("f", math.floor), "ceil": ("f", math.ceil), "round": ("f", round),
    "float_trunc": ("f", lambda x: float(math.trunc(x))), "float_round": ("fp", round_places), "float_add": ("ff", lambda a, b: a + b),
    "float_mul": ("ff", lambda a, b: a * b), "float_div": ("ff", lambda a, b: a / b), "int_div": ("ii", lambda a, b: a / b),
    "float_mod": ("ff", lambda a, b: a % b), "float_pow": ("ff", lambda a, b: float(a**b)), "float_min": ("ff", min), "float_max": ("ff", max),
    "float_abs": ("f", abs), "float_if": ("cf", lambda c, a: a if c else 0.0), "float_or": ("zf", lambda a, b: b),
    "float_eq": ("ff", lambda a, b: a == b), "float_lt": ("ff", lambda a, b: a < b), "float_le": ("ff", lambda a, b: a <= b),
    "float_is_integer": ("f", lambda a: a.is_integer()), "int_pow": ("ip", exact_power), "shift_left": ("ip", lambda a, b: a << b),
    "shift_right": ("ip", lambda a, b: a >> b), "bit_and": ("ii", lambda a, b: a & b), "bit_or": ("ii", lambda a, b: a | b),
    "bit_xor": ("ii", lambda a, b: a ^ b),
    **{name: ("f", getattr(math, name)) for name in ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh")},
}  # fmt: skip
VALUES = {"i": INTEGERS, "f": FLOATS, "p": [0, 1, 2, 5, 17, 40, 62, 63, -1, -2, -3], "c": [0, 1], "z": [0.0]}


def in_python(function, operands):
    """The value, or None where Python raises or gives what no word of 64 bits holds."""
    try:
        value = function(*operands)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return None
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def same(answer, value):
    if isinstance(value, float):
        read = float.fromhex(answer)
        return math.isnan(value) and math.isnan(read) or struct.pack("d", read) == struct.pack("d", value)
    return int(answer) == int(value)


def listed_functions():
    names = []
    for line in (ROOT / "src/litz/support/number_functions.def").read_text().splitlines():
        if line.startswith("LITZ_NUMBER_FUNCTION("):
            names.append(line[len("LITZ_NUMBER_FUNCTION(") :].split(",")[0])
    return names


def test_every_function_that_is_listed_is_compared():
    assert sorted(listed_functions()) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_gives_what_python_gives(name):
    kinds, function = FUNCTIONS[name]
    points = [(a,) for a in VALUES[kinds[0]]] if len(kinds) == 1 else [(a, b) for a in VALUES[kinds[0]] for b in VALUES[kinds[1]]]
    answers = calculate([f"number {name}({', '.join(map(repr, point))})" for point in points])
    for point, answer in zip(points, answers):
        expected = in_python(function, point)
        if expected is None:
            assert answer.startswith("undefined "), (name, point, answer)
        elif answer.startswith("undefined "):  # infinity and no number from operands that were finite
            assert isinstance(expected, float) and not math.isfinite(expected), (name, point, answer, expected)
        else:
            assert same(answer, expected), (name, point, answer, expected)


def test_true_division_of_integers_is_rounded_once():
    rng = random.Random(3)
    points = [(rng.randint(-(2**63), 2**63 - 1), rng.choice([1, -1]) * rng.randint(1, 2 ** rng.randint(1, 62))) for _ in range(500)]
    for point, answer in zip(points, calculate([f"number int_div({a}, {b})" for a, b in points])):
        assert same(answer, point[0] / point[1]), point


def test_rounding_to_decimals_is_that_of_the_exact_value():
    rng = random.Random(5)
    points = [(rng.choice([rng.uniform(-1e4, 1e4), rng.randint(0, 10**6) / 8, rng.randint(1, 999) * 5.0]), rng.randint(-4, 12)) for _ in range(500)]
    for point, answer in zip(points, calculate([f"number float_round({a!r}, {b})" for a, b in points])):
        assert same(answer, round(*point)), point


def test_definitions_that_are_none_are_refused():
    texts = {
        "trunc(s0)": "wants a float as operand 1", "to_float(1.5)": "wants an integer as operand 1", "float_add(1.5)": "takes 2 operands, found 1",
        "trunc(to_float(s0)": "expected 'trunc(...)' to end", "trunc(to_float(s0)) + 1": "expected 'trunc(...)' to end", "to_float()": "expected a number",
        "root(s0)": "no function 'root'", "to_float(s9)": "no symbol 's9'",
    }  # fmt: skip
    for answer, message in zip(calculate([f"number {text} ; s0=3" for text in texts]), texts.values()):
        assert answer.startswith("error: ") and message in answer, (answer, message)


class Recorder:
    """A builder that keeps what is computed and answers with text."""

    def __init__(self):
        self.definitions = {}

    def symbol(self, name, unbacked, lower, upper, hint):
        return name

    def expr(self, op, *operands):
        return f"{op}({', '.join(map(str, operands))})"

    def computed(self, name, definition, lower, upper):
        self.definitions[name] = (definition, lower, upper)
        return name


class Environment:
    def __init__(self, symbols):
        self.var_to_range = {s: ValueRanges(2, 2**31) for s in symbols}
        self.backed_var_to_val = {s: sympy.Integer(8) for s in symbols}


S0, S1 = sympy.symbols("s0 s1", integer=True, positive=True)
EXPRESSIONS = [
    sf.TruncToInt(sf.ToFloat(S0) * 1.5), sf.FloorToInt(sf.ToFloat(S0) * sympy.Float(0.7)), sf.CeilToInt(sf.IntTrueDiv(S0, 3)),
    sf.RoundToInt(sf.FloatTrueDiv(sf.ToFloat(S0), sympy.Float(2.0))), sf.OpaqueUnaryFn_sqrt(sf.ToFloat(S0)), sf.TruncToInt(sf.OpaqueUnaryFn_sqrt(sf.ToFloat(S0 * S1 + 3))),
    sf.FloatPow(sf.ToFloat(S0), sympy.Float(-0.5)), sf.FloatTrueDiv(sympy.Float(1.0), sf.OpaqueUnaryFn_sqrt(sf.ToFloat(S1))), sf.PowByNatural(sympy.Integer(2), S1),
    sf.RoundDecimal(sf.IntTrueDiv(S0, 7), sympy.Integer(2)), sf.ToFloat(S0) * 0.25 + sf.ToFloat(S1) * 3.0 + 0.125, sf.Max(sf.ToFloat(S0), sf.ToFloat(S1) * 1.5),
    sympy.Gt(sf.ToFloat(S0) * 0.5, 7.0), sympy.Ne(sf.IntTrueDiv(S0, 2), 4.0), sf.OpaqueUnaryFn_log2(sf.ToFloat(S0)), sf.OpaqueUnaryFn_exp(sf.IntTrueDiv(-S0, 10)),
    sf.TruncToInt(sf.ToFloat(2 * sf.TruncToInt(sf.ToFloat(S0) * 1.5) + 1) * 0.5), sf.LShift(sympy.Integer(1), S1),
    sf.BitwiseFn_bitwise_and(S0, sympy.Integer(6)), sf.BitwiseFn_bitwise_xor(S0, S1), sympy.Abs(sf.ToFloat(S0) - 10.5), sf.TruncToFloat(sf.ToFloat(S0) * 0.3),
    sympy.Piecewise((sf.ToFloat(S0) * 0.5, sympy.Gt(S0, S1)), (sympy.Float(2.5), True)), sf.TruncToInt(sf.FloatTrueDiv(sf.ToFloat(sf.FloorDiv(S0, 2)), sympy.Float(1.3))),
]  # fmt: skip


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_definitions_of_sizes_have_the_value_that_sympy_gives(e):
    sizes, environment = Sizes(), Environment([S0, S1])
    recorder = sizes.builder = Recorder()
    name = sizes.convert(e, environment)
    assert name in recorder.definitions, name
    text, lower, upper = recorder.definitions[name]
    for inner, (definition, _, _) in recorder.definitions.items():  # what stands in it is written out for the calculator
        assert inner == name or inner in text
    commands, expected = [], []
    for s0 in range(2, 40):
        for s1 in (2, 5, 11):
            point = {S0: sympy.Integer(s0), S1: sympy.Integer(s1)}
            filled = text
            for inner, (definition, _, _) in recorder.definitions.items():
                if inner != name:
                    [value] = calculate([f"number {definition} ; s0={s0} s1={s1}"])
                    filled = filled.replace(inner, value)
            commands.append(f"number {filled} ; s0={s0} s1={s1}")
            expected.append(e.xreplace(point))
    for command, answer, value in zip(commands, calculate(commands), expected):
        if not answer.startswith(("0x", "-0x")):
            number = int(bool(value)) if value in (sympy.true, sympy.false) else int(value)
            assert number == value or value in (sympy.true, sympy.false), command
            assert int(answer) == number, command
            assert (lower is None or lower <= number) and (upper is None or number <= upper), command
        else:
            assert same(answer, float(value)), (command, answer, value)


MODES = {"nearest": (3, 4, 5), "nearest-exact": (4,), "linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,)}
FACTORS = [(1.5, 1.5, 1.5), (0.7, 1.3, 2.25), (1 / 3, 0.9, 1.1)]


def assert_one_compile_serves(function, inputs, gradient=False):
    """No fallback, no second compile, eager's results."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="litz", dynamic=True, options={"fallback": "error"})
    for x in inputs:
        expected = function(x)
        with torch._dynamo.config.patch(error_on_recompile=True):
            torch.testing.assert_close(compiled(x), expected)
        if gradient:
            a, b = x.detach().clone().requires_grad_(), x.detach().clone().requires_grad_()
            function(a).square().sum().backward()
            compiled_gradient = torch.compile(function, backend="litz", dynamic=True, options={"fallback": "error"})
            compiled_gradient(b).square().sum().backward()
            torch.testing.assert_close(b.grad, a.grad)


@pytest.mark.parametrize("factors", FACTORS, ids=str)
@pytest.mark.parametrize("mode, rank", [(mode, rank) for mode, ranks in MODES.items() for rank in ranks])
def test_interpolation_by_a_fraction(mode, rank, factors):
    shapes = [(11, 9, 8), (14, 17, 7), (7, 12, 10)]
    inputs = [torch.randn(2, 3, *shape[: rank - 2]) for shape in shapes]
    assert_one_compile_serves(lambda x: F.interpolate(x, scale_factor=factors[: rank - 2], mode=mode) * 2, inputs)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("mode, rank", [(mode, rank) for mode, ranks in MODES.items() for rank in ranks])
def test_a_factor_that_keeps_a_size(mode, rank, dynamic):
    """Eager copies such a dimension in some modes, and takes the factor in the others."""
    torch._dynamo.reset()
    function = lambda x: F.interpolate(x, scale_factor=(1.1, 1.5, 1.1)[: rank - 2], mode=mode)  # noqa: E731
    compiled = torch.compile(function, backend="litz", dynamic=dynamic, options={"fallback": "error"})
    for shape in ((8, 7, 9), (21, 12, 6)) if dynamic else ((8, 7, 9),):
        x = torch.randn(2, 3, *shape[: rank - 2])
        torch.testing.assert_close(compiled(x), function(x))


PROGRAMS = {
    "a slice of a fraction": lambda x: x[: int(x.shape[0] * 0.3)] + 1,
    "two fractions side by side": lambda x: torch.cat([x[: int(x.shape[0] * 0.3)], x[int(x.shape[0] * 0.3) :] * 2]),
    "as many zeros as the root": lambda x: x.new_zeros(int(math.sqrt(x.shape[0]))) + x.sum(),
    "rounded up": lambda x: x.new_ones(math.ceil(x.shape[0] / 3)) * x.mean(),
    "rounded to even": lambda x: x[: round(x.shape[0] * 0.5)],
    "divided by a root": lambda x: x / math.sqrt(x.shape[-1]),
    "multiplied by a quotient": lambda x: x * (x.shape[0] / 3),
    "a power": lambda x: x + x.shape[0] ** 0.5 - x.shape[-1] ** -0.25,
    "a logarithm": lambda x: x * math.log2(x.shape[0]),
    "sine and tangent": lambda x: x + math.sin(x.shape[0]) * math.tanh(x.shape[1] / 4),
    "two decimals": lambda x: x - round(x.shape[0] / 7, 2),
    "a filled tensor": lambda x: torch.full((3,), x.shape[0] / 4) + x.sum(),
    "a chosen number": lambda x: torch.where(x > 0, x.shape[0] / 4, x),
    "a masked number": lambda x: x.masked_fill(x > 0, x.shape[0] / 7),
    "a comparison": lambda x: x > x.shape[0] / 40,
    "a bound": lambda x: x.clamp(-x.shape[0] / 40, x.shape[0] / 30),
    "an exponent": lambda x: x.abs() ** (x.shape[0] / 9),
    "a power of a number": lambda x: (x.shape[0] / 9) ** x,
    "a remainder": lambda x: x % (x.shape[0] / 30),
    "beside integers": lambda x: (x * 10).long() * (x.shape[0] / 3),
    "beside narrow floats": lambda x: x.bfloat16() / math.sqrt(x.shape[-1]),
    "beside wide floats": lambda x: x.double() * (x.shape[0] / 3),
    "subtracted from": lambda x: x.shape[0] / 3 - x,
    "given back": lambda x: (x * 2, x.shape[0] / 4, int(x.shape[0] * 0.4)),
    "an argument of a call": lambda x: F.softplus(x, beta=x.shape[0] / 4),
    "scaled attention": lambda x: torch.softmax(x @ x.T / math.sqrt(x.shape[-1]), -1) @ x,
    "a greater float": lambda x: x * max(x.shape[0] / 4, 2.5) + min(x.shape[1] / 4, 1.5),
    "an integer power": lambda x: x.new_ones(x.shape[0] ** 2 // 8) + x.sum(),
    "a run of floats": lambda x: torch.arange(0, x.shape[0] / 4, 0.5) + x.sum(),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_programs(what):
    assert_one_compile_serves(PROGRAMS[what], [torch.randn(12, 8), torch.randn(23, 9), torch.randn(17, 21)])


@pytest.mark.parametrize("what", ["divided by a root", "multiplied by a quotient", "a slice of a fraction", "scaled attention", "a chosen number"])
def test_gradients(what):
    assert_one_compile_serves(PROGRAMS[what], [torch.randn(12, 8), torch.randn(23, 9)], gradient=True)


@pytest.mark.parametrize("mode, rank", [(mode, rank) for mode, ranks in MODES.items() for rank in ranks])
def test_gradients_of_interpolation(mode, rank):
    inputs = [torch.randn(2, 3, *shape[: rank - 2]) for shape in ((8, 7, 6), (11, 10, 9))]
    assert_one_compile_serves(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode), inputs, gradient=True)


def test_pointwise_operands_are_no_calls_of_ops():
    import litz

    torch._dynamo.reset()
    function = torch.compile(lambda x: (x / math.sqrt(x.shape[-1]) + x.shape[0] / 3).relu(), backend="litz", dynamic=True, options={"fallback": "error"})
    function(torch.randn(12, 8))
    report = litz.last_report()
    assert report["kernels"] == 1 and not report["extern_calls"], report


SAVED = """graph f
schema aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
schema aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
symbol s0 in [2, inf] hint 10
symbol d0 in [0, inf] = trunc(float_mul(to_float(s0), 0.3))
symbol d1 in [-inf, inf] = float_add(sqrt(to_float(d0 + s0)), -1e-05)
input %x : f32[s0]
%a = aten.slice.Tensor(%x, 0, 0, d0) -> f32[d0]
%b = aten.mul.Tensor(%a, d1) -> f32[d0]
return %b, d1, d0
"""


@pytest.mark.parametrize("level", ["eliminate_dead_code", "loop", "wrapper"])
def test_every_level_keeps_the_definitions_in_its_text(level):
    import litz

    def read_and_write(text):
        command = [pathlib.Path(litz.__file__).parent / "bin" / "litz", "opt", "-", "--to", level]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout

    text = read_and_write(SAVED)
    for definition in ("= trunc(float_mul(to_float(s0), 0.3))", "= float_add(sqrt(to_float(s0 + d0)), -1e-05)"):
        assert definition in text or definition.replace("s0 + d0", "d0 + s0") in text, text
    assert read_and_write(text) == text
