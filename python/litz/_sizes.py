"""SymInts as expressions of a Litz graph: a memoised walk over their SymPy form."""

import operator

import sympy
import torch
from torch.utils._sympy import functions as sf

from litz import _C

_NARY = {sympy.Add: "+", sympy.Mul: "*", sympy.Max: "max", sympy.Min: "min", sf.Max: "max", sf.Min: "min", sympy.And: "and", sympy.Or: "or"}
_BINARY = {sf.FloorDiv: "//", sf.CleanDiv: "//", sf.Mod: "%", sf.PythonMod: "%"}
_RELATIONS = {
    sympy.Eq: ("==", False), sympy.Ne: ("!=", False), sympy.Lt: ("<", False), sympy.Le: ("<=", False), sympy.Gt: ("<", True),
    sympy.Ge: ("<=", True),
}  # fmt: skip


class Sizes:
    """The sizes of one graph. `shape_env` gives ranges and the values seen at capture."""

    def __init__(self):
        self.builder = None
        self.memo = {}
        self.unbacked = set()

    def __call__(self, value):
        """A SymInt or SymBool as an int, bool or Expr; anything else is not taken."""
        if isinstance(value, (torch.SymInt, torch.SymBool)):
            node = value.node
            if not hasattr(node, "shape_env"):  # a nested int
                raise _C.Unsupported(f"a size of type {type(node).__name__}")
            return self.convert(node.expr, node.shape_env)
        raise _C.Unsupported(f"an argument of type {type(value).__name__}")

    def convert(self, e, env):
        known = self.memo.get(e)
        if known is None:
            known = self.memo[e] = self._convert(e, env)
        return known

    def _convert(self, e, env):
        if e.is_Symbol:
            return self._symbol(e, env)
        if isinstance(e, (sympy.Integer, int)):
            return int(e)
        if e in (sympy.true, sympy.false):
            return int(bool(e))
        kind = type(e)
        if kind is sympy.Piecewise:  # of torch.sym_ite
            return self._piecewise(e, env)
        args = [self.convert(a, env) for a in e.args if not (kind is sympy.Pow)]
        expr = self.builder.expr
        if kind in _NARY:
            return expr(_NARY[kind], *args)
        if kind in _BINARY:
            return expr(_BINARY[kind], *args)
        if kind in _RELATIONS:
            op, swapped = _RELATIONS[kind]
            return expr(op, *(reversed(args) if swapped else args))
        if kind is sf.ModularIndexing:
            return expr("%", expr("//", args[0], args[1]), args[2])
        if kind is sf.Where or kind is sympy.ITE:
            return expr("select", *args)
        if kind is sympy.Not:
            return expr("not", *args)
        if kind is sf.Identity:
            return args[0]
        if kind in (sympy.Pow, sf.PowByNatural):
            base, exponent = e.args
            if isinstance(exponent, sympy.Integer) and 1 <= int(exponent) <= 16:
                return expr("*", *[self.convert(base, env)] * int(exponent))
        raise _C.Unsupported(f"a size with the operator {kind.__name__}: {e}")

    def _piecewise(self, e, env):
        *cases, (otherwise, always) = e.args
        if always != sympy.true:
            raise _C.Unsupported(f"a size that is not defined everywhere: {e}")
        chosen = self.convert(otherwise, env)
        for value, condition in reversed(cases):
            chosen = self.builder.expr("select", self.convert(condition, env), self.convert(value, env), chosen)
        return chosen

    def _symbol(self, symbol, env):
        unbacked = symbol_is_unbacked(symbol)
        bounds = env.var_to_range.get(symbol)
        lower, upper = (None, None) if bounds is None else (_bound(bounds.lower), _bound(bounds.upper))
        hint = None if unbacked else env.backed_var_to_val.get(symbol) if hasattr(env, "backed_var_to_val") else env.var_to_val.get(symbol)
        if unbacked:
            self.unbacked.add(symbol)
        return self.builder.symbol(str(symbol), unbacked, lower, upper, None if hint is None else int(hint))


def symbol_is_unbacked(symbol):
    return str(symbol)[:1] in "uz"  # sizes and numbers of inputs are s, f; what an op gives is u, zf


def _bound(value):
    """An int, or None where the range has no bound that matters for 64 bits."""
    if not isinstance(value, sympy.Integer) or not -(2**62) < int(value) < 2**62:
        return None
    return int(value)


def evaluate(expr, values):
    """A SymPy expression of floats and integers at run time; `values`: symbol -> int."""
    result = expr.xreplace({symbol: sympy.Integer(value) for symbol, value in values.items()})
    if result.is_Boolean:
        return bool(result)
    return int(result) if result.is_integer else float(result)


PYTHON_OPERATORS = {getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "mod", "neg", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "not_", "truediv", "pow")}
