"""Graph IR text and PyTorch: writes a call as a graph, runs a graph's text node by node through torch.ops.

Independent of the compiler: only the text is shared. Running checks every node's type and sizes, and the strides of views and
pointwise ops, against what eager gives.
"""

import re

import torch

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "c32": torch.complex32, "c64": torch.complex64, "c128": torch.complex128,
    "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "bool": torch.bool,
    "f8e5m2": torch.float8_e5m2, "f8e4m3fn": torch.float8_e4m3fn,
}
NAMES = {v: k for k, v in DTYPES.items()}
FORMATS = {
    "contiguous": torch.contiguous_format, "preserve": torch.preserve_format,
    "channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d,
}
FORMAT_NAMES = {v: k for k, v in FORMATS.items()}


def contiguous_strides(sizes):
    strides, running = [], 1
    for n in reversed(sizes):
        strides.append(running)
        running *= max(n, 1)
    return strides[::-1]


def meta_text(t):
    if t is None:
        return "none"
    text = f"{NAMES[t.dtype]}[{', '.join(map(str, t.shape))}]"
    if list(t.stride()) != contiguous_strides(t.shape):
        text += f" strides [{', '.join(map(str, t.stride()))}]"
    if t.storage_offset():
        text += f" offset [{t.storage_offset()}]"
    return text


def argument_text(value, names):
    if value is None or isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, torch.Tensor):
        return names(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, torch.dtype):
        return NAMES[value]
    if isinstance(value, torch.device):
        return value.type
    if isinstance(value, torch.layout):
        return '"' + str(value).split(".")[-1] + '"'
    if isinstance(value, torch.memory_format):
        return FORMAT_NAMES[value]
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(argument_text(v, names) for v in value) + "]"
    raise TypeError(f"no text for {value!r}")


def op_name(op):
    name = op._schema.name.replace("::", ".")
    return name + ("." + op._schema.overload_name if op._schema.overload_name else "")


def call_text(op, args, kwargs, results):
    """The graph of one call, and its input tensors in order."""
    inputs, lines = [], []

    def names(t):
        for i, known in enumerate(inputs):
            if known is t:
                return f"%x{i}"
        inputs.append(t)
        lines.append(f"input %x{len(inputs) - 1} : {meta_text(t)}")
        return f"%x{len(inputs) - 1}"

    schema = op._schema
    given = dict(zip([a.name for a in schema.arguments if not a.kwarg_only], args)) | dict(kwargs)
    parts = []
    for a in schema.arguments:
        if a.name not in given:
            continue
        text = argument_text(given[a.name], names)
        parts.append(f"{a.name}={text}" if a.kwarg_only or len(parts) < len(given) and a.name in kwargs else text)
    flat = list(results) if isinstance(results, (list, tuple)) else [results]
    outs = ["%y"] + [f"%y.{i}" for i in range(1, len(flat))]
    used = [n for n, t in zip(outs, flat) if t is not None]
    text = "graph call\nschema " + str(schema) + "\n" + "\n".join(lines) + "\n"
    text += f"{', '.join(outs)} = {op_name(op)}({', '.join(parts)}) -> {', '.join(meta_text(t) for t in flat)}\n"
    return text + f"return {', '.join(used)}\n", inputs


def split_top(text):
    parts, depth, quoted, begin = [], 0, False, 0
    i = 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += c in "[("
            depth -= c in "])"
            if c == "," and depth == 0:
                parts.append(text[begin:i].strip())
                begin = i + 1
        i += 1
    last = text[begin:].strip()
    return parts + [last] if last or parts else []


def closing(text, start):
    depth, quoted, i = 0, False, start
    while True:
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += c in "[("
            depth -= c in "])"
            if depth == 0:
                return i
        i += 1


class GraphText:
    """A graph read from text, ready to run on tensors."""

    def __init__(self, text):
        self.schemas, self.inputs, self.nodes, self.returns, self.constants = {}, [], [], [], []
        for line in text.splitlines():
            line = re.sub(r"  # .*$", "", line).strip()
            word, _, rest = line.partition(" ")
            if word == "schema":
                schema = torch._C.parse_schema(rest)
                self.schemas[schema.name.replace("::", ".") + ("." + schema.overload_name if schema.overload_name else "")] = schema
            elif word == "input":
                name, meta = [p.strip() for p in rest.split(" : ", 1)]
                self.inputs.append((name, meta))
            elif word == "return":
                self.returns = split_top(rest)
            elif word in ("graph", "symbol", ""):
                continue
            elif word == "error:":
                raise RuntimeError(rest)
            else:
                names, _, call = line.partition(" = ")
                op, _, rest = call.partition("(")
                end = closing(call, len(op))
                self.nodes.append((split_top(names), op, split_top(call[len(op) + 1:end]), call[end + 1:].strip()[3:]))

    def ops(self):
        return [op for _, op, _, _ in self.nodes]

    def run(self, tensors, check=True):
        self.symbols, self.values = {}, {}
        for (name, meta), t in zip(self.inputs, tensors, strict=True):
            if meta.startswith("size "):
                self.symbols[meta[5:].strip()] = int(t)
                continue
            self.values[name] = t
            for text, n in zip(split_top(meta[meta.index("[") + 1:closing(meta, meta.index("["))]), t.shape):
                if re.fullmatch(r"[a-z]\d+", text):
                    self.symbols.setdefault(text, n)
        for names, op, arguments, metas in self.nodes:
            results = self.call(op, arguments)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            for i, (name, result) in enumerate(zip(names, results)):
                self.values[name] = result
                if check and result is not None:
                    self.check(op, name, result, split_top(metas.removesuffix(" built"))[i])
        return [self.argument(r.removesuffix(" free"), None) for r in self.returns]

    def check(self, op, name, result, meta):
        if meta == "none":
            return
        dtype, rest = meta.split("[", 1)
        sizes = [self.expr(e) for e in split_top(rest[:rest.index("]")])]
        assert NAMES[result.dtype] == dtype, f"{name} = {op}: eager gives {result.dtype}, the graph says {meta}"
        assert list(result.shape) == sizes, f"{name} = {op}: eager gives {list(result.shape)}, the graph says {meta}"
        overload = self.overload(op)
        is_view = any(r.alias_info for r in overload._schema.returns) and op != "aten.reshape"
        # What the graph returns has the strides that it promises.
        is_pointwise = torch.Tag.pointwise in overload.tags and name not in self.returns
        if is_view or is_pointwise:
            strides = contiguous_strides(sizes)
            if " strides [" in meta:
                strides = [self.expr(e) for e in split_top(meta.split(" strides [", 1)[1].split("]")[0])]
            for n, have, said in zip(sizes, result.stride(), strides):
                assert n == 1 or have == said or 0 in sizes, f"{name} = {op}: eager's strides {result.stride()}, the graph says {meta}"

    def overload(self, op):
        namespace, name, *overload = op.split(".")
        return getattr(getattr(getattr(torch.ops, namespace), name), overload[0] if overload else "default")

    def call(self, op, arguments):
        overload = self.overload(op)
        schema = self.schemas[op]
        positional, keywords = [], {}
        for text in arguments:
            named = re.match(r"(\w+)=(?!=)", text)
            a = next(a for a in schema.arguments if a.name == named[1]) if named else schema.arguments[len(positional)]
            value = self.argument(text[named.end():] if named else text, a.type)
            if named:
                keywords[a.name] = value
            else:
                positional.append(value)
        return self.numbers_as_tensors(overload, schema, positional, keywords)

    def numbers_as_tensors(self, overload, schema, positional, keywords):
        """torch takes a number for a tensor in some ops only; elsewhere it becomes a tensor that promotes alike."""
        tensors = [v for v in positional if isinstance(v, torch.Tensor)]
        needs = [i for i, (a, v) in enumerate(zip(schema.arguments, positional))
                 if str(a.type) in ("Tensor", "Optional[Tensor]") and isinstance(v, (bool, int, float, complex))]
        for i in needs:
            v = positional[i]
            dtype = torch.result_type(tensors[0], v)
            if isinstance(v, float) and tensors[0].is_floating_point():
                dtype = tensors[0].dtype if tensors[0].dtype == torch.float64 else torch.float32
                if tensors[0].dim() == 0 and tensors[0].dtype != torch.float64:
                    dtype = tensors[0].dtype
            positional[i] = torch.tensor(v, dtype=dtype)
            if overload._schema.name in ("aten::add", "aten::sub", "aten::mul", "aten::div"):
                positional[i] = v
        return overload(*positional, **keywords)

    def expr(self, text):
        return int(eval(text, {"min": min, "max": max, "select": lambda c, a, b: a if c else b, "__builtins__": {}}, self.symbols))

    def argument(self, text, type_):
        kind = str(type_) if type_ is not None else ""
        if text == "None":
            return None
        if text in ("True", "False"):
            return text == "True"
        if text.startswith("%"):
            return self.values[text]
        if text.startswith('"'):
            return {"strided": torch.strided}.get(text[1:-1], text[1:-1]) if "ayout" in kind or text == '"strided"' else eval(text)
        if text.startswith("["):
            return [self.argument(p, type_) for p in split_top(text[1:-1])]
        if text in FORMATS:
            return FORMATS[text]
        if text.startswith("complex("):
            return complex(*[float(p) for p in split_top(text[8:-1])])
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        try:
            return float(text)
        except ValueError:
            pass
        if text in DTYPES and text not in self.symbols:
            return DTYPES[text]
        if text.split(":")[0] in ("cpu", "cuda", "meta"):
            return torch.device(text)
        return self.expr(text)

