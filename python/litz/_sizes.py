"""SymInts and SymFloats as expressions of a Litz graph: a memoised walk over their SymPy form.

Where floats take part (int(n * 0.3), math.sqrt(n)), the number becomes a symbol of its own, computed by functions of floats at the call.
"""

import sympy
import torch
from torch.utils._sympy import functions as sf
from torch.utils._sympy.value_ranges import bound_sympy

from litz import _C

_NARY = {sympy.Add: "+", sympy.Mul: "*", sympy.Max: "max", sympy.Min: "min", sf.Max: "max", sf.Min: "min", sympy.And: "and", sympy.Or: "or"}
_BINARY = {sf.FloorDiv: "//", sf.CleanDiv: "//", sf.Mod: "%", sf.PythonMod: "%"}
_RELATIONS = {
    sympy.Eq: ("==", False), sympy.Ne: ("!=", False), sympy.Lt: ("<", False), sympy.Le: ("<=", False), sympy.Gt: ("<", True),
    sympy.Ge: ("<=", True),
}  # fmt: skip

# SymPy or torch -> (function, what it takes: i or f each); what they give is their own is_integer. number_functions.def describes them.
_FUNCTIONS = {
    sf.TruncToInt: ("trunc", "f"), sf.FloorToInt: ("floor", "f"), sf.CeilToInt: ("ceil", "f"), sf.RoundToInt: ("round", "f"),
    sympy.floor: ("floor", "f"), sympy.ceiling: ("ceil", "f"), sf.TruncToFloat: ("float_trunc", "f"), sf.RoundDecimal: ("float_round", "fi"),
    sf.ToFloat: ("to_float", "i"), sf.FloatTrueDiv: ("float_div", "ff"), sf.IntTrueDiv: ("int_div", "ii"), sf.FloatPow: ("float_pow", "ff"),
    sf.PowByNatural: ("int_pow", "ii"), sf.LShift: ("shift_left", "ii"), sf.RShift: ("shift_right", "ii"),
    sf.BitwiseFn_bitwise_and: ("bit_and", "ii"), sf.BitwiseFn_bitwise_or: ("bit_or", "ii"), sf.BitwiseFn_bitwise_xor: ("bit_xor", "ii"),
    **{getattr(sf, f"OpaqueUnaryFn_{name}"): (name, "f") for name in
       ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh")},
}  # fmt: skip
_OF_BITS = (sf.BitwiseFn_bitwise_and, sf.BitwiseFn_bitwise_or, sf.BitwiseFn_bitwise_xor)
_OF_FLOATS = {sympy.Add: "float_add", sympy.Mul: "float_mul", sf.Max: "float_max", sympy.Max: "float_max", sf.Min: "float_min", sympy.Min: "float_min"}
_COMPARISONS = {  # function, operands swapped, negated
    sympy.Eq: ("float_eq", False, False), sympy.Ne: ("float_eq", False, True), sympy.Lt: ("float_lt", False, False),
    sympy.Le: ("float_le", False, False), sympy.Gt: ("float_lt", True, False), sympy.Ge: ("float_le", True, False),
}  # fmt: skip


class Sizes:
    """The sizes of one graph. `shape_env` gives ranges and the values seen at capture."""

    def __init__(self):
        self.builder = None
        self.memo = {}
        self.names = {}  # what is computed with floats -> its symbol's name
        self.unbacked = set()
        self.misjudged = set()  # symbols whose upper bound is not to be trusted

    def __call__(self, value):
        """A SymInt, SymBool or SymFloat as an int, bool, float or Expr; anything else is not taken."""
        if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
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
        if isinstance(e, sympy.Float):
            return float(e)
        kind = type(e)
        if not _is_int(e) or (kind in _FUNCTIONS and not _is_small_power(e)) or (kind in _RELATIONS and not all(map(_is_int, e.args))):
            return self._computed(e, env)
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
        if kind is sympy.Abs:
            return expr("max", args[0], expr("*", -1, args[0]))
        if kind is sympy.Xor:
            return expr("!=", *args)
        if kind is sympy.Not:
            return expr("not", *args)
        if kind is sf.Identity:
            return args[0]
        if kind in (sympy.Pow, sf.PowByNatural):
            base, exponent = e.args
            if _is_small_power(e):
                return expr("*", *[self.convert(base, env)] * int(exponent))
        raise _C.Unsupported(f"a size with the operator {kind.__name__}: {e}")

    def _piecewise(self, e, env):
        otherwise, cases = _cases(e)
        chosen = self.convert(otherwise, env)
        for value, condition in cases:
            chosen = self.builder.expr("select", self.convert(condition, env), self.convert(value, env), chosen)
        return chosen

    def _computed(self, e, env):
        """A symbol of its own for a number that integer arithmetic does not give. What stands in its definition exists before it."""
        definition = self._float(e, env) if not _is_int(e) else self._integer(e, env)
        name = f"d{len(self.names)}"
        while any(str(symbol) == name for symbol in env.var_to_range):
            name += "_"
        self.names[e] = name
        if not _is_int(e):
            return self.builder.computed(name, definition, None, None)
        if _is_condition(e):
            return self.builder.computed(name, definition, 0, 1)
        bounds = bound_sympy(e, env.var_to_range)
        return self.builder.computed(name, definition, _bound(bounds.lower), _bound(bounds.upper))

    def _call(self, e, env):
        function, operands = _FUNCTIONS[type(e)]
        made = [self._float(a, env) if kind == "f" else self._operand(a, env) for a, kind in zip(e.args, operands, strict=True)]
        return f"{function}({', '.join(made)})"

    def _integer(self, e, env):
        """The text of a definition whose value is an integer or a condition."""
        if type(e) in _COMPARISONS:
            function, swapped, negated = _COMPARISONS[type(e)]
            left, right = (self._float(a, env) for a in (reversed(e.args) if swapped else e.args))
            return f"bit_xor({function}({left}, {right}), 1)" if negated else f"{function}({left}, {right})"
        return self._call(e, env)

    def _operand(self, e, env):
        """An integer inside a definition: what is computed inside it has a symbol of its own."""
        self.convert(e, env)  # makes the symbols, and refuses what is no size
        inner = {part: sympy.Symbol(self.names[part], integer=True) for part in sympy.preorder_traversal(e) if part in self.names}
        return str(e.xreplace(inner))

    def _float(self, e, env):
        """The text of a definition whose value is a float; integers are converted."""
        if isinstance(e, (sympy.Float, sympy.Integer, sympy.Rational)):
            return repr(float(e))
        if _is_int(e):
            return f"to_float({self._operand(e, env)})"
        kind = type(e)
        if e.is_Symbol:
            self.convert(e, env)
            return str(e)
        if kind in _FUNCTIONS:
            return self._call(e, env)
        if kind in _OF_FLOATS:
            made = self._float(e.args[0], env)
            for a in e.args[1:]:
                made = f"{_OF_FLOATS[kind]}({made}, {self._float(a, env)})"
            return made
        if kind is sympy.Abs:
            return f"float_abs({self._float(e.args[0], env)})"
        if kind is sympy.Pow:  # of SymPy's own making: a square, a quotient
            return f"float_pow({self._float(e.base, env)}, {self._float(e.exp, env)})"
        if kind is sympy.Piecewise:
            return self._float_piecewise(e, env)
        raise _C.Unsupported(f"a size with the operator {kind.__name__}: {e}")

    def _float_piecewise(self, e, env):
        otherwise, cases = _cases(e)
        chosen = self._float(otherwise, env)
        for value, condition in cases:
            holds = self._condition(condition, env)
            chosen = f"float_or(float_if({holds}, {self._float(value, env)}), float_if(bit_xor({holds}, 1), {chosen}))"
        return chosen

    def _condition(self, e, env):
        return self._integer(e, env) if type(e) in _COMPARISONS and not all(map(_is_int, e.args)) else self._operand(e, env)

    def _symbol(self, symbol, env):
        unbacked = symbol_is_unbacked(symbol)
        if not _is_int(symbol):
            if unbacked:
                self.unbacked.add(symbol)
            return self.builder.float_symbol(str(symbol), unbacked)
        bounds = env.var_to_range.get(symbol)
        lower, upper = (None, None) if bounds is None else (_bound(bounds.lower), _bound(bounds.upper))
        if symbol in self.misjudged:
            upper = None
        hint = None if unbacked else env.backed_var_to_val.get(symbol) if hasattr(env, "backed_var_to_val") else env.var_to_val.get(symbol)
        if unbacked:
            self.unbacked.add(symbol)
        return self.builder.symbol(str(symbol), unbacked, lower, upper, None if hint is None else int(hint))


def _cases(e):
    """Of a Piecewise: what holds otherwise, and the cases before it, the last one first."""
    *cases, (otherwise, always) = e.args
    if always != sympy.true:
        raise _C.Unsupported(f"a size that is not defined everywhere: {e}")
    return otherwise, reversed(cases)


def _is_int(e):
    """Whether a number is an integer or a condition; else it is a float. SymPy takes symbols for conditions, and knows nothing of torch's
    functions of bits."""
    if e.is_integer or type(e) in _OF_BITS or _is_condition(e):
        return True
    return (type(e) in _NARY or type(e) in _BINARY) and all(map(_is_int, e.args))


def _is_condition(e):
    return isinstance(e, sympy.logic.boolalg.Boolean) and not e.is_Symbol


def _is_small_power(e):
    return type(e) in (sympy.Pow, sf.PowByNatural) and isinstance(e.args[1], sympy.Integer) and 1 <= int(e.args[1]) <= 16


def symbol_is_unbacked(symbol):
    return str(symbol).startswith(("u", "zuf"))  # sizes and numbers of inputs are s, zf; what an op gives is u, zuf


def _bound(value):
    """An int, or None where the range has no bound that matters for 64 bits."""
    if not isinstance(value, sympy.Integer) or not -(2**62) < int(value) < 2**62:
        return None
    return int(value)
