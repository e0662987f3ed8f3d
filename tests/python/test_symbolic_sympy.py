"""Litz's expressions against SymPy's: equal polynomials are one node, simplified text means what was written, and the text that
PyTorch prints for its own functions is read as those functions."""

import pathlib
import random
import subprocess

import pytest
import sympy

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"s0": (2, 9), "s1": (1, 7), "s2": (2, "inf"), "u0": ("-inf", "inf")}
AXES = {"i0": "4", "i1": "12", "i2": "s0", "i3": "s0*s1", "i4": "s2*4"}
NAMES = [*SIZES, *AXES]


def calculate(lines):
    """The answers of the calculator to `lines`, after the symbols are declared."""
    programs = sorted(ROOT.glob("build/*/tests/symbolic/symbolic_calculator"), key=lambda p: p.stat().st_mtime)
    assert programs, "build the target symbolic_calculator first: ./dev build"
    head = [f"size {n} {low} {high}" for n, (low, high) in SIZES.items()] + [f"axis {n} {e}" for n, e in AXES.items()]
    result = subprocess.run([programs[-1]], input="\n".join(head + lines) + "\n", capture_output=True, text=True, check=True, timeout=120)
    answers = result.stdout.splitlines()
    assert len(answers) == len(lines), (len(answers), len(lines), answers[:3])
    return answers


def random_point(rng):
    point = {}
    for name, (low, high) in SIZES.items():
        low = -20 if low == "-inf" else low
        point[name] = rng.randint(low, 20 if high == "inf" else high)
    for name, extent in AXES.items():
        point[name] = rng.randrange(eval(extent, {}, point))
    return point


def random_polynomial(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*NAMES, str(rng.randint(0, 6))])
    a, b = random_polynomial(rng, depth - 1), random_polynomial(rng, depth - 1)
    return f"({a} {rng.choice(['+', '-', '*'])} {b})"


def random_index(rng, depth):
    """Sums of products, divided by constants and sizes."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([*NAMES, str(rng.randint(-4, 24))])
    kind = rng.random()
    a = random_index(rng, depth - 1)
    if kind < 0.4:
        return f"({a} + {random_index(rng, depth - 1)})"
    if kind < 0.6:
        return f"({a}*{rng.choice(['2', '3', '4', '12', '-1', 's0', 's1', 's2'])})"
    divisor = rng.choice(["2", "3", "4", "6", "12", "s0", "s1", "s2", "(s0*s1)", "(s2*4)", "(s0 + s2)"])
    if kind < 0.75:
        return f"({a} // {divisor})"
    if kind < 0.9:
        return f"({a} % {divisor})"
    return f"{rng.choice(['min', 'max'])}({a}, {random_index(rng, depth - 1)})"


def to_sympy(text):
    class Value:  # gives Python's operators SymPy's floor and Mod
        def __init__(self, e):
            self.e = e

        def __add__(self, o): return Value(self.e + wrap(o))
        __radd__ = __add__
        def __sub__(self, o): return Value(self.e - wrap(o))
        def __rsub__(self, o): return Value(wrap(o) - self.e)
        def __mul__(self, o): return Value(self.e * wrap(o))
        __rmul__ = __mul__
        def __pow__(self, o): return Value(self.e ** o)
        def __neg__(self): return Value(-self.e)
        def __floordiv__(self, o): return Value(sympy.floor(self.e / wrap(o)))
        def __rfloordiv__(self, o): return Value(sympy.floor(wrap(o) / self.e))
        def __mod__(self, o): return Value(self.e - wrap(o) * sympy.floor(self.e / wrap(o)))
        def __rmod__(self, o): return Value(wrap(o) - self.e * sympy.floor(wrap(o) / self.e))

    def wrap(value):
        return value.e if isinstance(value, Value) else sympy.Integer(value)

    names = {n: Value(sympy.Symbol(n, integer=True)) for n in NAMES}
    names["min"] = lambda *a: Value(sympy.Min(*map(wrap, a)))
    names["max"] = lambda *a: Value(sympy.Max(*map(wrap, a)))
    return wrap(eval(text, {"__builtins__": {}}, names))


def test_polynomials_that_sympy_finds_equal_are_one_node_and_no_others():
    rng = random.Random(1)
    pairs = []
    for _ in range(60):
        a = random_polynomial(rng, 3)
        pairs.append((a, str(sympy.expand(to_sympy(a)))))
        pairs.append((a, str(sympy.factor(to_sympy(a)))))
        pairs.append((a, random_polynomial(rng, 2)))
        pairs.append((a, f"({a}) + {rng.choice(['1', 's0', 'i2', '0'])}"))
    answers = calculate([f"same {a} ; {b}" for a, b in pairs])
    wanted = ["1" if sympy.expand(to_sympy(a) - to_sympy(b)) == 0 else "0" for a, b in pairs]
    assert wanted.count("1") > 120 and wanted.count("0") > 60
    wrong = [(pair, answer) for pair, answer, w in zip(pairs, answers, wanted) if answer != w]
    assert not wrong, wrong[:3]


def test_simplified_index_expressions_have_sympys_value():
    rng = random.Random(2)
    sources = [random_index(rng, 4) for _ in range(60)]
    shown = calculate([f"show {s}" for s in sources])
    compared = 0
    for source, text in zip(sources, shown):
        assert not text.startswith("error"), (source, text)
        before, after = to_sympy(source), to_sympy(text)
        for _ in range(2):
            point = {sympy.Symbol(n, integer=True): v for n, v in random_point(rng).items()}
            want = before.subs(point)
            assert want.is_Integer, (source, want)
            assert after.subs(point) == want, (source, text, point)
            compared += 1
    assert compared == 120


@pytest.mark.parametrize("seed", range(2))
def test_what_pytorch_prints_is_read_as_pytorch_means_it(seed):
    functions = pytest.importorskip("torch.utils._sympy.functions")
    rng = random.Random(seed)
    names = {n: sympy.Symbol(n, integer=True, nonnegative=True) for n in ("s0", "s1", "s2", "i1", "i3")}

    def build(depth):
        if depth == 0:
            return rng.choice([*names.values(), sympy.Integer(rng.randint(1, 12))])
        a, b = build(depth - 1), build(depth - 1)
        divisor = rng.choice([names["s0"], names["s2"], sympy.Integer(rng.randint(2, 9)), names["s0"] * 4])
        return rng.choice([
            lambda: a + b, lambda: a * b, lambda: functions.FloorDiv(a, divisor), lambda: functions.Mod(a, divisor),
            lambda: functions.ModularIndexing(a, rng.randint(1, 5), rng.randint(2, 7)), lambda: functions.CeilDiv(a, divisor),
            lambda: functions.Max(a, b), lambda: functions.Min(a, b), lambda: a**2])()

    expressions = [build(3) for _ in range(60)]
    lines, wanted = [], []
    for e in expressions:
        point = {n: v for n, v in random_point(rng).items() if n in names}
        value = e.subs({names[n]: v for n, v in point.items()})
        lines.append(f"value {e} ; " + " ".join(f"{n}={v}" for n, v in point.items()))
        wanted.append(str(value))
    answers = calculate(lines)
    wrong = [(line, answer, want) for line, answer, want in zip(lines, answers, wanted) if answer != want]
    assert not wrong, wrong[:3]
