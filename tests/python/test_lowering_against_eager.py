"""Every lowered op gives what eager gives: calls that eager makes while it runs PyTorch's OpInfo samples, and samples below for
primitives that eager never calls itself, are lowered and run by the reference interpreter."""
import functools
import math
import subprocess
import warnings
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "build/dev/tests/lower/reference_runner"
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.uint8: "u8", torch.int8: "i8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}
TYPES = {v: k for k, v in NAMES.items()}
FORMATS = {torch.contiguous_format: "contiguous", torch.preserve_format: "preserve", torch.channels_last: "channels_last",
           torch.channels_last_3d: "channels_last_3d"}
LAYOUTS = {torch.strided: '"strided"'}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Samples are tiny: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def op_name(func):
    namespace, rest = func._schema.name.split("::")
    overload = func._schema.overload_name
    return f"{namespace}.{rest}" + (f".{overload}" if overload else "")


class Unwritable(Exception):
    pass


class GraphText:
    """One call as a graph of one node."""

    def __init__(self, func, args, kwargs, result):
        self.tensors, self.lines = [], []
        schema = func._schema
        values = []
        for k, argument in enumerate(schema.arguments):
            if k < len(args):
                value = args[k]
            elif argument.name in kwargs:
                value = kwargs[argument.name]
            elif argument.has_default_value():
                value = argument.default_value
            else:
                raise Unwritable(argument.name)
            text = self.argument(value, str(argument.type))
            values.append(f"{argument.name}={text}" if argument.kwarg_only else text)
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        names = ["%r" if k == 0 else f"%r.{k}" for k in range(len(results))]
        metas = ", ".join(self.meta(t) for t in results)
        self.text = "\n".join([
            "graph f", f"schema {schema}", *self.lines, f"{', '.join(names)} = {op_name(func)}({', '.join(values)}) -> {metas}",
            f"return {', '.join(names)}", ""])
        self.results = results

    def meta(self, tensor):
        if tensor.dtype not in NAMES or tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise Unwritable(str(tensor.dtype))
        text = f"{NAMES[tensor.dtype]}[{', '.join(map(str, tensor.shape))}] strides [{', '.join(map(str, tensor.stride()))}]"
        return text + (f" offset [{tensor.storage_offset()}]" if tensor.storage_offset() else "")

    def argument(self, value, type_text):
        if value is None:
            return "None"
        if isinstance(value, torch.Tensor):
            if any(value is t for t in self.tensors):
                return f"%x{next(k for k, t in enumerate(self.tensors) if t is value)}"
            name = f"%x{len(self.tensors)}"
            self.lines.append(f"input {name} : {self.meta(value)}")
            self.tensors.append(value)
            return name
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, int):
            if "Dtype" in type_text or "ScalarType" in type_text:
                raise Unwritable("number as dtype")
            return f"{float(value)}" if type_text == "float" else str(value)
        if isinstance(value, float):
            return "nan" if math.isnan(value) else repr(value)
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, torch.dtype):
            if value not in NAMES:
                raise Unwritable(str(value))
            return NAMES[value]
        if isinstance(value, torch.memory_format):
            return FORMATS[value]
        if isinstance(value, torch.device):
            return "cpu"
        if isinstance(value, torch.layout):
            return LAYOUTS[value]
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.argument(v, type_text) for v in value) + "]"
        raise Unwritable(type(value).__name__)

    def block(self):
        text = self.text.encode()
        out = [f"graph {len(text)}\n".encode(), text]
        for t in self.tensors:
            storage = t.untyped_storage()
            raw = bytes(storage) if storage.nbytes() else b""
            dims = " ".join(f"{a}:{b}" for a, b in zip(t.shape, t.stride()))
            out += [f"tensor {NAMES[t.dtype]} {t.storage_offset()} {len(raw)} {dims}\n".encode(), raw]
        return b"".join(out) + b"end\n"


def run_cases(cases, folder):
    """Per case: a list of tensors, or text that says why not."""
    (folder / "cases").write_bytes(b"".join(case.block() for case in cases))
    subprocess.run([RUNNER, folder / "cases", folder / "results"], check=True)
    data = (folder / "results").read_bytes()
    position, results = 0, []

    def line():
        nonlocal position
        end = data.index(b"\n", position)
        text, position = data[position:end].decode(), end + 1
        return text

    for _ in cases:
        head = line()
        if not head.startswith("ok "):
            results.append(head)
            continue
        tensors = []
        for _ in range(int(head.split()[1])):
            words = line().split()
            dtype, shape = TYPES[words[1]], [int(w) for w in words[2:]]
            size = math.prod(shape) * dtype.itemsize
            raw = data[position:position + size]
            position += size
            tensors.append(torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape) if size else torch.empty(shape, dtype=dtype))
        results.append(tensors)
    return results


def lowered_ops():
    text = subprocess.run([RUNNER, "--ops"], check=True, capture_output=True, text=True).stdout
    return set(text.split())


class Recorder(TorchDispatchMode):
    """Notes calls of ops that are lowered, at most `limit` of each (op, types of tensors)."""

    def __init__(self, ops, limit):
        super().__init__()
        self.ops, self.limit, self.seen, self.cases = ops, limit, {}, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = op_name(func)
        before = None
        if name in self.ops and name != "aten.copy_":
            before = self.copied(args), self.copied(kwargs)
        result = func(*args, **kwargs)
        if before is not None and isinstance(result, (torch.Tensor, tuple, list)):
            self.note(func, *before, result)
        return result

    def copied(self, value):
        if isinstance(value, torch.Tensor):
            if value.numel() > 3000:
                return value
            fresh = torch.empty_strided([1], [1], dtype=value.dtype).set_(value.untyped_storage().clone(), value.storage_offset(), value.shape, value.stride()) \
                if value.layout == torch.strided and not value.is_conj() and not value.is_neg() else value
            return fresh
        if isinstance(value, (list, tuple)):
            return [self.copied(v) for v in value]
        if isinstance(value, dict):
            return {k: self.copied(v) for k, v in value.items()}
        return value

    def note(self, func, args, kwargs, result):
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        if not all(isinstance(t, torch.Tensor) and t.numel() <= 3000 for t in results) or not results:
            return
        try:
            case = GraphText(func, args, kwargs, [t.detach() for t in results])
        except Unwritable:
            return
        if any(t.numel() > 3000 for t in case.tensors):
            return
        key = (op_name(func), tuple(t.dtype for t in case.tensors))
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] <= self.limit:
            case.results = [t.clone() for t in case.results]
            case.key = key
            self.cases.append(case)


def tolerance(dtype):
    return {torch.float64: (1e-9, 1e-9), torch.float32: (2e-5, 2e-5), torch.float16: (5e-3, 5e-3), torch.bfloat16: (4e-2, 4e-2)}.get(dtype, (0, 0))


def difference(case, found):
    for k, (want, got) in enumerate(zip(case.results, found)):
        if want.dtype != got.dtype or want.shape != got.shape:
            return f"output {k}: {got.dtype} {tuple(got.shape)}, expected {want.dtype} {tuple(want.shape)}"
        rtol, atol = tolerance(want.dtype)
        try:
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as e:
            return f"output {k}: " + str(e).replace("\n", " ")[:300]
    return None


def check(cases, folder):
    problems, refused = [], {}
    for case, found in zip(cases, run_cases(cases, folder)):
        if isinstance(found, str):
            if found.startswith("extern "):
                refused.setdefault(found, 0)
                refused[found] += 1
            else:
                problems.append(f"{case.key}: {found}\n{case.text}")
        elif (text := difference(case, found)) is not None:
            problems.append(f"{case.key}: {text}\n{case.text}")
    return problems, refused


# Library calls that the reference interpreter does not make itself.
LIBRARY = {"aten.convolution", "aten.convolution_backward", "aten.item", "aten._local_scalar_dense", "mkldnn._convolution_pointwise",
           "mkldnn._linear_pointwise"}


@functools.cache
def opinfo_cases(dtype):
    from torch.testing._internal.common_methods_invocations import op_db
    recorder = Recorder(lowered_ops() - LIBRARY, limit=6)
    torch.manual_seed(0)
    for info in op_db:
        if dtype not in info.dtypes or info.name.startswith(("linalg", "fft", "signal", "special", "svd", "pca", "nn.functional.scaled", "masked", "torch.ops")):
            continue
        try:
            for k, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
                if k >= 12:
                    break
                with warnings.catch_warnings(), torch.no_grad(), recorder:
                    warnings.simplefilter("ignore")
                    info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # a sample that eager refuses is no sample
            continue
    return recorder.cases


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_calls_of_opinfo_samples_give_what_eager_gives(dtype, tmp_path):
    cases = opinfo_cases(dtype)
    assert len(cases) > 100
    problems, _ = check(cases, tmp_path)
    assert not problems, f"{len(problems)} of {len(cases)}\n" + "\n".join(problems[:20])


def direct_samples():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randn(*s, generator=g)
    x, p = r(3, 4, 5), torch.ops.prims
    a = torch.ops.aten
    i = torch.randint(-3, 3, (3, 4), generator=g)
    index = torch.randint(0, 3, (2, 4), generator=g)
    pic = r(2, 3, 9, 7)
    nan = torch.tensor([[1., math.nan, 3., math.nan], [2., 2., -math.inf, 2.]])
    yield p.convert_element_type.default, (x, torch.bfloat16), {}
    yield p.convert_element_type.default, (x * 300, torch.uint8), {}
    yield p.convert_element_type.default, (i, torch.float16), {}
    yield p.convert_element_type.default, (i, torch.bool), {}
    yield p.iota.default, (7,), dict(start=-2, step=3, dtype=torch.int64, device=torch.device("cpu"), requires_grad=False)
    yield a.var_mean.correction, (x, [0, 2]), dict(correction=1, keepdim=True)
    yield a.var_mean.correction, (x.bfloat16(), [1]), dict(correction=0)
    yield a.var_mean.correction, (x, None), dict(correction=0.5)
    yield a.any.dims, (i > 0, [0, 1]), {}
    yield a.all.dims, (i > -3, [1], True), {}
    yield a.any.dims, (i, None), {}
    for d in (None, 0, 1):
        yield a.argmax.default, (nan, d), {}
        yield a.argmin.default, (nan, d, True), {}
    yield a.max.dim, (nan, 1), {}
    yield a.min.dim, (i, 0, True), {}
    yield a.cummax.default, (torch.tensor([1., 3., 3., 2., 3.]), 0), {}
    yield a.cummin.default, (i, 1), {}
    yield a.logcumsumexp.default, (r(3, 4), 1), {}
    yield a.sum.dim_IntList, (x.bfloat16(), [1]), dict(dtype=torch.float32)
    yield a.sum.dim_IntList, (i.to(torch.int32), []), {}
    yield a.amax.default, (nan, [0]), {}
    yield a.amin.default, (i.bool(), [1]), {}
    yield a.prod.dim_int, (i, 1), {}
    yield a.scatter_reduce.two, (r(3, 4), 0, index, r(2, 4), "amax"), dict(include_self=False)
    yield a.scatter_reduce.two, (r(3, 4), 0, index, r(2, 4), "sum"), dict(include_self=False)
    yield a.scatter_reduce.two, (r(3, 4), 0, index, r(2, 4), "prod"), {}
    yield a.index_put.default, (r(5, 4), [torch.tensor([1, -1, 1])], r(3, 4), True), {}
    yield a.index_put.default, (r(5, 4), [None, torch.tensor([1, -1])], r(5, 2)), {}
    yield a.index_put.default, (x, [x > 0], torch.tensor(7.)), {}
    yield a._unsafe_index_put.default, (r(5, 4), [torch.tensor([1, -1]), torch.tensor([0, 2])], r(2)), {}
    yield a._unsafe_index.Tensor, (pic, [None, None, torch.tensor([[0], [8]]), torch.tensor([1, -1])]), {}
    yield a.index.Tensor, (pic, [torch.tensor([1, 0]), None, torch.tensor([3, -1])]), {}
    yield a.max_pool2d_with_indices.default, (pic, [3, 3], [2, 2], [1, 1]), {}
    yield a.max_pool2d_with_indices.default, (pic, [2, 3], [2, 2], [0, 1], [2, 1], True), {}
    yield a.max_pool2d_with_indices.default, (pic, [7, 5], [1, 1], [3, 2]), {}
    yield a.max_pool2d_with_indices.default, (torch.full((1, 1, 4, 4), -math.inf), [2, 2], [2, 2], [1, 1]), {}
    yield a.avg_pool2d.default, (pic, [3, 2], [2, 2], [1, 1]), {}
    yield a.avg_pool2d.default, (pic, [3, 2], [2, 2], [1, 1], True, False), {}
    yield a.avg_pool2d.default, (pic, [7, 6], [2, 1], [3, 2], True), {}
    yield a.avg_pool2d.default, (pic.bfloat16(), [2, 2], [2, 2], [0, 0], False, True, 3), {}
    yield a._adaptive_avg_pool2d.default, (pic, [4, 3]), {}
    yield a._adaptive_avg_pool2d.default, (pic, [3, 7]), {}
    yield a._adaptive_avg_pool2d.default, (r(3, 2, 5), [5, 4]), {}
    yield a.roll.default, (x, [2, -1], [0, 2]), {}
    yield a.roll.default, (x, [7], []), {}
    yield a.flip.default, (x, [0, -1]), {}
    yield a.constant_pad_nd.default, (x, [1, 2, -1, 3], 2.5), {}
    yield a.constant_pad_nd.default, (x, [-1, -1]), {}
    yield a.cat.default, ([x, i[:, :, None].float(), x[:, :, :0]], 2), {}
    yield a.cat.default, ([torch.empty(0), x], 1), {}
    yield a.as_strided.default, (x, [2, 3], [5, 2], 4), {}
    yield a.unfold.default, (x, 1, 3, 1), {}
    yield a.diagonal.default, (x, -1, 2, 1), {}
    yield a.view.dtype, (x, torch.int32), {}
    yield a.squeeze.dims, (x[:, :1], [0, 1]), {}
    yield a.slice_scatter.default, (x, r(3, 2, 5), 1, -3, 4, 2), {}
    yield a.select_scatter.default, (x, r(3, 5), 1, -1), {}
    yield a.diagonal_scatter.default, (r(4, 4), r(3), 1), {}
    yield a.as_strided_scatter.default, (r(4, 4), r(2, 2), [2, 2], [4, 2], 1), {}
    yield a.div.Tensor_mode, (i, 2), dict(rounding_mode="floor")
    yield a.div.Tensor_mode, (i, -2), dict(rounding_mode="trunc")
    yield a.div.Tensor_mode, (x, 0.3), dict(rounding_mode="floor")
    yield a.remainder.Tensor, (x, torch.tensor(-0.7)), {}
    yield a.fmod.Tensor, (i, 2), {}
    yield a.pow.Tensor_Scalar, (x, 3), {}
    yield a.pow.Tensor_Scalar, (i, 5), {}
    yield a.pow.Scalar, (2, i), {}
    yield a.pow.Tensor_Tensor, (x.abs(), x), {}
    yield a.nextafter.default, (x, -x), {}
    yield a.add.Tensor, (x.bfloat16(), i[:, :, None]), dict(alpha=3)
    yield a.sub.Tensor, (x, 1), dict(alpha=0.5)
    yield a.mul.Tensor, (x.half(), torch.tensor(0.1, dtype=torch.float64)), {}
    yield a.gather.default, (r(3, 4), 0, index), {}
    yield a.embedding.default, (r(6, 3), i.abs()), {}
    yield a.scatter.value, (r(3, 4), 0, index, 2.5), {}
    yield a.reshape.default, (r(3, 4).t(), [2, 6]), {}
    yield a.div.Tensor_mode, (torch.tensor([17.96, 7.9]).bfloat16() * 3, torch.tensor([3., 3.]).bfloat16()), dict(rounding_mode="trunc")
    yield a.mm.default, (r(3, 4), r(5, 4).t()), {}
    yield a.addmm.default, (r(5), r(3, 4), r(4, 5)), dict(beta=0.5, alpha=2)
    yield a.baddbmm.default, (r(2, 1, 5), r(2, 3, 4), r(2, 4, 5)), {}


def eager(func, args, kwargs):
    """Numbers where the schema says Tensor, as Python's argument parser takes them."""
    args = [torch.tensor(v, dtype=torch.float64 if isinstance(v, float) else None) if isinstance(v, (int, float)) and str(a.type) == "Tensor" else v
            for v, a in zip(args, func._schema.arguments)]
    return func(*args, **kwargs)


def test_primitives_called_directly_give_what_eager_gives(tmp_path):
    cases = []
    for func, args, kwargs in direct_samples():
        result = eager(func, args, kwargs)
        case = GraphText(func, args, kwargs, result)
        case.key = op_name(func)
        case.results = [t.clone() for t in case.results]
        cases.append(case)
    problems, refused = check(cases, tmp_path)
    assert not problems, f"{len(problems)} of {len(cases)}\n" + "\n".join(problems[:20])
    assert not refused


def test_every_lowered_op_is_compared_with_eager():
    names = {op_name(f) for f, _, _ in direct_samples()}
    for dtype in (torch.float32, torch.int64, torch.bool):
        names |= {case.key[0] for case in opinfo_cases(dtype)}
    # Writes are tested on golden texts and whole models, numbers that are drawn where kernels for GPUs are.
    assert not lowered_ops() - names - LIBRARY - {"aten.copy_", "aten.native_dropout"}


@pytest.mark.parametrize("func, args", [
    (torch.ops.aten.gather.default, (torch.randn(3, 4), 0, torch.tensor([[0, 3, 0, 0]]))),
    (torch.ops.aten.gather.default, (torch.randn(3, 4), 0, torch.tensor([[0, -1, 0, 0]]))),
    (torch.ops.aten.index.Tensor, (torch.randn(3), [torch.tensor([-4])])),
    (torch.ops.aten.embedding.default, (torch.randn(3, 2), torch.tensor([-1]))),
    (torch.ops.aten.scatter_add.default, (torch.randn(3), 0, torch.tensor([5]), torch.randn(1))),
], ids=lambda v: op_name(v) if hasattr(v, "_schema") else "")
def test_indices_that_eager_refuses_are_refused(func, args, tmp_path):
    with pytest.raises((IndexError, RuntimeError)):
        func(*args)
    shapes = {"gather": (1, 4), "index": (1,), "embedding": (1, 2), "scatter_add": (3,)}
    case = GraphText(func, args, {}, torch.empty(shapes[func._schema.name.split("::")[1]]))
    [found] = run_cases([case], tmp_path)
    assert isinstance(found, str) and found.startswith("error ") and "index" in found, found
