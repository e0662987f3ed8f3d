"""An FX graph of AOTAutograd as a Litz graph: one walk, one builder call a node.

Metadata comes from node.meta["val"]. A call that has no schema, or arguments that graph IR cannot hold (higher-order ops, streams),
becomes an op of its own that calls back into Python: it is counted like every other extern call.
"""

import operator

import sympy
import torch
import torch.fx
from torch._subclasses import FakeTensor
from torch._subclasses.fake_tensor import unset_fake_temporarily

from litz import _C, _torch
from litz._sizes import Sizes, symbol_is_unbacked

_schemas = {}  # OpOverload -> _Schema

# Views whose memory holds other numbers, or another element type, than they stand for. The graph is functional, so a fresh tensor is as
# good.
_PHYSICAL = {
    torch.ops.aten._conj.default: torch.ops.aten.conj_physical.default,
    torch.ops.aten._neg_view.default: torch.ops.aten.neg.default,
    torch.ops.aten.view_as_real.default: torch.ops.aten.view_as_real_copy.default,
    torch.ops.aten.view_as_complex.default: torch.ops.aten.view_as_complex_copy.default,
}

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

# Ops that generated code computes with a number that only the call knows, integers and floats alike: what it takes for a number is any
# argument of type Scalar, or one that stands for a tensor. With a float the others are called through Python.
_TAKE_FLOATS = {
    getattr(torch.ops.aten, name)
    for name in ("add", "sub", "rsub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge", "where", "full", "full_like", "new_full",
                 "fill", "arange", "scalar_tensor", "masked_fill", "remainder", "fmod", "clamp", "clamp_min", "clamp_max", "maximum", "minimum")
}  # fmt: skip


class _Schema:
    """An op's schema, with the defaults as graph IR wants them."""

    __slots__ = ("text", "names", "defaults", "tensors")

    def __init__(self, op):
        schema = op._schema
        self.text = str(schema)
        self.names = {a.name: i for i, a in enumerate(schema.arguments)}
        self.defaults = [_default(a) for a in schema.arguments]
        self.tensors = {i for i, a in enumerate(schema.arguments) if str(a.type) == "Tensor"}


def _default(argument):
    if not argument.has_default_value():
        return None
    value, kind = argument.default_value, str(argument.real_type)
    if isinstance(value, int) and not isinstance(value, bool):  # enumerations come as their numbers
        if "ScalarType" in kind:
            return _torch.DTYPES[value]
        if "MemoryFormat" in kind:
            return _torch.MEMORY_FORMATS[value]
        if "Layout" in kind:
            return torch.strided
    return value


class ExportedGraph:
    """What `export` gives: the builder, the tensors that the graph holds, and the names of its calls into Python."""

    def __init__(self, builder, constants, opaque):
        self.builder, self.constants, self.opaque = builder, constants, opaque


def export(gm, name, is_inference=True, input_outputs=None, lazy_inputs=(), promised=None, frozen=None):
    """`input_outputs`: output position -> input position, for outputs that are the very input. `lazy_inputs`: positions of inputs with a
    conjugate or negative bit, whose memory does not hold their values: the caller resolves them. `promised`: how many
    of the first outputs have the strides of the metadata; the strides of the others are free where their sizes are numbers (None: all have
    them). `frozen`: input position -> the tensor that is always passed there. Raises _C.Unsupported."""
    return _Exporter(gm, name, input_outputs or {}, lazy_inputs, promised, frozen or {}).run(is_inference)


class _Exporter:
    def __init__(self, gm, name, input_outputs, lazy_inputs, promised, frozen):
        self.gm = gm
        self.lazy_inputs = lazy_inputs
        self.sizes = Sizes()
        self.builder = self.sizes.builder = _C.GraphBuilder(name, self.sizes)
        self.schema_numbers = {}
        self.several = {}  # node -> the values of its results, numbers included
        self.modules = {}  # get_attr node -> submodule
        self.floats = {}  # node that holds a SymFloat -> its expression, once it is used
        self.constants = []
        self.opaque = []
        self.sources = {}
        self.input_outputs = input_outputs
        self.promised = promised
        self.frozen = frozen
        self.inputs = []
        self.defined = set()  # symbols of run-time numbers that calls have given

    def run(self, is_inference):
        self.builder.set_inference(is_inference)
        nodes = self.gm.graph.nodes
        try:
            for node in nodes:
                getattr(self, node.op)(node)
            undefined = self.sizes.unbacked - self.defined
            if undefined:
                raise _C.Unsupported(f"the number {min(map(str, undefined))}, which no call gives")
        except BaseException:
            _torch.forget_opaque(self.opaque)
            raise
        return ExportedGraph(self.builder, tuple(self.constants), self.opaque)

    # ---- nodes by kind

    def placeholder(self, node):
        value = node.meta.get("val")
        builder = self.builder
        if isinstance(value, torch.Tensor):
            bound = builder.input(node.name, self.meta_of(value))
            if (tensor := self.frozen.get(len(self.inputs))) is not None:
                self.inputs.append(bound)  # what returns the input returns what was passed
                with unset_fake_temporarily():
                    return builder.bind(node, self.constant(f"{node.name}_frozen", tensor.detach()))
        elif isinstance(value, (torch.SymInt, torch.SymFloat, int)) and not isinstance(value, bool):
            bound = value if isinstance(value, int) else self.sizes(value)
            if isinstance(bound, float):
                raise _C.Unsupported("an input that is a float")
            builder.size_input(node.name, builder.integer(bound) if isinstance(bound, int) else bound)
        else:
            raise _C.Unsupported(f"an input of type {type(value).__name__}")
        builder.bind(node, bound)
        self.inputs.append(bound)

    def get_attr(self, node):
        value = self.gm
        for part in node.target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.nn.Module):
            self.modules[node] = value
        elif isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            self.builder.bind(node, self.constant(node.name, value))
        else:
            self.modules[node] = value

    def call_function(self, node):
        target = node.target
        value = node.meta.get("val")
        if target is operator.getitem:
            return self.getitem(node)
        if target is torch.ops.aten._assert_scalar.default and self.states_misjudged_bound(node.args[0]):
            return None
        if target is torch.ops.aten.masked_select.default and node.args[0].meta["val"].shape != node.args[1].meta["val"].shape:
            self.sizes.misjudged |= value.shape[0].node.expr.free_symbols  # torch bounds it by the first argument alone, not as broadcast
        if isinstance(value, (torch.SymInt, torch.SymBool)) and not _defines_symbols(node):
            self.builder.bind(node, self.sizes(value))
        elif isinstance(value, (int, float, bool)) and not isinstance(target, torch._ops.OpOverload):
            self.builder.bind(node, value)
        elif isinstance(value, torch.SymFloat) and not _defines_symbols(node):
            pass  # bound where it is used: most floats only lead to sizes
        elif isinstance(target, torch._ops.OpOverload) and not self.has_opaque_arguments(node):
            self.call_op(node, value)
        else:
            self.call_opaque(node, value)

    def states_misjudged_bound(self, node):
        """Whether a check only says what torch took for a bound by mistake."""
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        if not isinstance(value, torch.SymBool) or not isinstance(value.node.expr, sympy.Le):
            return False
        symbol, bound = value.node.expr.args
        return symbol in self.sizes.misjudged and bound == value.node.shape_env.var_to_range[symbol].upper

    def output(self, node):
        outputs = node.args[0]
        if isinstance(outputs, torch.fx.Node):
            raise _C.Unsupported("a graph whose output is no tuple")
        for position, output in enumerate(outputs):
            source = self.input_outputs.get(position)
            has_free_strides = self.promised is not None and position >= self.promised and _has_fixed_sizes(output)
            if source is not None:
                output = self.inputs[source]
            elif isinstance(output, torch.fx.Node):
                is_float = isinstance(output.meta.get("val"), torch.SymFloat)
                output = self.bound_float(output) if is_float else self.builder.bound(output)
            self.builder.output(output, not has_free_strides)

    def call_module(self, node):
        raise _C.Unsupported(f"a call of the module {node.target}")

    call_method = call_module

    def constant(self, name, tensor):
        self.constants.append(tensor)
        is_plain = tensor.device.type == "cpu" and not (tensor.is_conj() or tensor.is_neg())
        return self.builder.constant(name, self.meta_of(tensor), tensor.data_ptr() if is_plain else 0)

    # ---- calls

    def getitem(self, node):
        source, index = node.args
        values = self.several.get(source)
        known = index in values if isinstance(values, dict) else values is not None and isinstance(index, int) and index < len(values)
        if not known:
            raise _C.Unsupported(f"an item of {source.format_node()}")
        if isinstance(values[index], tuple):
            self.several[node] = values[index]
        else:
            self.builder.bind(node, values[index])

    def has_opaque_arguments(self, node):
        has_floats = any(isinstance(a.meta.get("val"), torch.SymFloat) for a in node.all_input_nodes)
        return any(a in self.modules for a in node.all_input_nodes) or (has_floats and node.target.overloadpacket not in _TAKE_FLOATS)

    def bound_float(self, node):
        """What a node that holds a SymFloat stands for."""
        if node not in self.floats:
            self.floats[node] = self.sizes(node.meta["val"])
            self.builder.bind(node, self.floats[node])
        return self.floats[node]

    def call_op(self, node, value):
        op = _PHYSICAL.get(node.target, node.target)
        if any(isinstance(a, complex) for a in node.args) and op._overloadname == "Tensor":
            op = getattr(op._overloadpacket, "Scalar", op)  # torch takes no complex number for a tensor
        if op is torch.ops.aten.copy_.default and self.lazy_inputs:
            written = self.builder.bound(node.args[0])
            if any(self.inputs[i] is written for i in self.lazy_inputs):
                raise _C.Unsupported("a write to a conjugate or negative view")
        schema = _schemas.get(op)
        if schema is None:
            schema = _schemas[op] = _Schema(op)
        number = self.schema_numbers.get(op)
        if number is None:
            try:
                number = self.builder.schema(schema.text)
            except _C.UserError:  # a type that graph IR does not have
                number = -1
            self.schema_numbers[op] = number
        if number < 0:
            return self.call_opaque(node, value)
        for source in node.all_input_nodes:
            if isinstance(source.meta.get("val"), torch.SymFloat):
                self.bound_float(source)
        arguments = list(node.args) + schema.defaults[len(node.args) :]
        for name, argument in node.kwargs.items():
            arguments[schema.names[name]] = argument
        for i in schema.tensors:
            if isinstance(arguments[i], complex):
                with unset_fake_temporarily():
                    number_tensor = torch.tensor(arguments[i], dtype=torch.complex128, device="cpu")
                arguments[i] = self.constant(f"{node.name}_number", number_tensor)
        if isinstance(value, (list, tuple)) and any(isinstance(leaf, int) for leaf in value):
            return self.call_opaque(node, value)  # numbers that capture knew: torch 2.11's C interface does not give them back
        try:
            self.add_call(node, node.name, number, arguments, value)
        except (_C.Unsupported, OverflowError):
            self.call_opaque(node, value)

    def add_call(self, node, name, schema, arguments, value):
        """One call with the results that `value` describes, and what follows from symbols that it defines."""
        builder = self.builder
        is_tensor = isinstance(value, torch.Tensor)
        leaves = (value,) if is_tensor or not isinstance(value, (list, tuple)) else value
        metas, symbols = [], []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                metas.append(self.meta_of(leaf))
            elif isinstance(leaf, (torch.SymInt, torch.SymBool)):
                symbols.append(self.sizes(leaf))
            elif leaf is None:
                metas.append(None)
            elif not isinstance(leaf, int):
                raise _C.Unsupported(f"a result of type {type(leaf).__name__}")
        if value is None:
            metas = []
        file, line, text = self.source_of(node)
        values = builder.call(name, schema, arguments, metas, symbols, file, line, text)
        bound, tensors, numbers = [], iter(values), iter(symbols)
        for leaf in leaves if value is not None else ():
            if isinstance(leaf, torch.Tensor):
                bound.append(next(tensors))
            elif leaf is None:
                next(tensors)
                bound.append(None)
            else:
                bound.append(leaf if isinstance(leaf, int) else next(numbers))
        if isinstance(value, (list, tuple)):
            self.several[node] = tuple(bound)
        elif bound:
            builder.bind(node, bound[0])
        self.define_symbols(node, leaves if value is not None else (), bound)

    def define_symbols(self, node, leaves, bound):
        """Sizes, strides and offsets of the results that are symbols of their own, known only at run time, are read from the tensors."""
        aten = torch.ops.aten
        for leaf, value in zip(leaves, bound, strict=True):
            if isinstance(leaf, torch.SymInt):
                self.defined |= leaf.node.expr.free_symbols
            if not isinstance(leaf, torch.Tensor):
                continue
            reads = [(aten.sym_size.int, d, size) for d, size in enumerate(leaf.shape)]
            reads += [(aten.sym_stride.int, d, stride) for d, stride in enumerate(leaf.stride())]
            reads.append((aten.sym_storage_offset.default, None, leaf.storage_offset()))
            for op, dimension, number in reads:
                if not isinstance(number, torch.SymInt):
                    continue
                symbol = number.node.expr
                if symbol.is_Symbol and symbol_is_unbacked(symbol) and symbol not in self.defined:
                    self.defined.add(symbol)
                    arguments = [value] if dimension is None else [value, dimension]
                    schema = self.builder.schema(str(op._schema))
                    self.builder.call(f"{node.name}_{symbol}", schema, arguments, [], [self.sizes(number)], None, 0, None)

    def call_opaque(self, node, value):
        """A call as an op of its own, of the tensors and integers that its arguments hold."""
        sources, kinds, arguments = [], [], []
        readers = {}  # an fx node, or a size as it stands among the arguments, -> how its value is found among those of the call

        def read(source, held, bound):
            position = len(arguments)
            arguments.append(bound)
            kinds.append("Tensor" if isinstance(held, torch.Tensor) else "float" if isinstance(held, (torch.SymFloat, float)) else "SymInt")
            is_condition = isinstance(held, torch.SymBool)
            readers[source] = lambda values: bool(values[position]) if is_condition else values[position]

        for source in node.all_input_nodes:
            held = source.meta.get("val")
            if source in self.modules:
                readers[source] = lambda values, module=self.modules[source]: module
            elif source in self.several:
                raise _C.Unsupported(f"{node.name} takes the list {source.name}")
            else:
                read(source, held, self.bound_float(source) if isinstance(held, torch.SymFloat) else self.builder.bound(source))
            sources.append(source)

        def read_size(argument):
            if isinstance(argument, _SYMBOLIC) and id(argument) not in readers:
                read(id(argument), argument, self.sizes(argument))
            return argument

        torch.fx.node.map_aggregate((node.args, node.kwargs), read_size)
        target, args, kwargs = node.target, node.args, node.kwargs
        sources = tuple(sources)

        def function(*values):
            made = {source: readers[source](values) for source in sources}

            def fill(argument):
                if isinstance(argument, torch.fx.Node):
                    return made[argument]
                return readers[id(argument)](values) if isinstance(argument, _SYMBOLIC) else argument

            filled_args, filled_kwargs = torch.fx.node.map_aggregate((args, kwargs), fill)
            result = target(*filled_args, **filled_kwargs)
            return result if keys is None else tuple(result[key] for key in keys)

        keys = list(value) if isinstance(value, dict) else None  # as a kernel that the user wrote gives its results
        if keys is not None:
            value = tuple(value.values())
        leaves = (value,) if not isinstance(value, (list, tuple)) else value
        returns = ["Tensor" if leaf is None or isinstance(leaf, torch.Tensor) else "SymInt" for leaf in leaves if value is not None and type(leaf) is not int]
        name = _torch.register_opaque(_stem(target), function)
        self.opaque.append(name)
        schema = f"{_torch.OPAQUE_NAMESPACE}::{name}({', '.join(f'{k} a{i}' for i, k in enumerate(kinds))}) -> "
        schema += returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        self.add_call(node, node.name, self.builder.schema(schema), arguments, value)
        if keys is not None:
            self.several[node] = dict(zip(keys, self.several[node], strict=True))

    # ---- metadata

    def meta_of(self, tensor):
        if tensor.layout is not torch.strided:
            raise _C.Unsupported(f"a tensor of layout {tensor.layout}")
        code = _torch.DTYPE_CODES.get(tensor.dtype)
        if code is None:
            raise _C.Unsupported(f"a tensor of {tensor.dtype}")
        device = tensor.device
        return (code, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), device.type, device.index or 0)

    def source_of(self, node):
        """(file, line, text) of the innermost frame of the user's code."""
        trace = node.meta.get("stack_trace")
        if not trace:
            return None, 0, None
        found = self.sources.get(trace)
        if found is None:
            found = self.sources[trace] = _last_frame(trace)
        return found


def _has_fixed_sizes(output):
    value = output.meta.get("val") if isinstance(output, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and all(type(n) is int for n in (*value.shape, *value.stride(), value.storage_offset()))


def _last_frame(trace):
    start = trace.rfind('File "')
    if start < 0:
        return None, 0, None
    first, _, rest = trace[start + 6 :].partition("\n")
    file, _, place = first.partition('", line ')
    line = place.split(",")[0]
    return file, int(line) if line.isdigit() else 0, rest.strip().split("\n")[0]


def _stem(target):
    name = getattr(target, "__name__", None) or getattr(target, "_name", None) or type(target).__name__
    return "".join(c if c.isalnum() else "_" for c in str(name)) or "call"


def _defines_symbols(node):
    return bool(node.meta.get("unbacked_bindings"))
