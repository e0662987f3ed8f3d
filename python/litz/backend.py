"""The function that torch.compile calls with a captured graph.

Inference: AOTAutograd without Python decompositions; where its metadata shows nothing to do at run time, the native callable goes
straight to Dynamo. Training: torch's min-cut partitioner, forward and backward compiled apart. What Litz does not take runs eagerly, once
warned about and counted, or is an error with fallback=error.
"""

import collections
import contextlib
import functools
import json
import os
import sys
import tempfile
import time
import warnings

import torch
import torch._functorch.config
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import OutputType
from torch._subclasses.fake_tensor import unset_fake_temporarily

from litz import _C, _torch, log, options
from litz._capture import native_ops
from litz.cuda_graphs import CudaRecorder
from litz.export import export
from litz.recordable import recording_refusal, results_of_forward, saved_arguments
from litz.recorded import Recorded, RecordedBackward

counters = collections.Counter()
_reports = []
_warned = set()
_recorder = CudaRecorder()

NOT_KNOWN = "it is not known which results of the forward graph are saved"


class Fallback(UserWarning):
    """A region runs eagerly; the text says which, why, and how to reproduce it."""


class FallbackError(RuntimeError):
    """The same as an error, under fallback=error."""


def last_report():
    """What the last compile of a graph did: a dict; None before the first."""
    return dict(_reports[-1]) if _reports else None


def reports():
    """The same of the latest compiles, the last one at the end: a forward graph and its backward graph are two."""
    return [dict(report) for report in _reports]


def backend_entry(gm, example_inputs, *, mode=None, options=None, **unknown):
    """The backend "litz" of torch.compile."""
    if unknown:
        raise _C.UserError(f"unknown argument '{next(iter(unknown))}' of the backend, known are mode and options")
    _prepare(_device_types(gm, example_inputs))
    return _Compile(_resolve(mode, options)).run(gm, example_inputs)


_resolve = options.resolve
_with_workers = set()  # types of devices that know how to start compiler processes


def _device_types(gm, example_inputs):
    """The types of device that the captured graph computes on: those of its inputs, and of tensors that it makes itself."""
    values = [*example_inputs, *(node.meta.get("example_value") for node in gm.graph.nodes)]
    return {x.device.type for x in torch.utils._pytree.tree_leaves(values) if isinstance(x, torch.Tensor)}


def _prepare(types):
    """Starts, for every type of device, what its first compile would wait for."""
    for device in types - {"cpu"} - _with_workers:
        _with_workers.add(device)
        _C.set_worker_command(device, [sys.executable, os.path.join(os.path.dirname(__file__), "triton_worker.py")])
    for device in types | {"cpu"}:
        _C.prepare(device)


@functools.cache
def _let_candidates_be_measured():
    from litz import measure

    _C.set_measurer(measure.measure)


class _Compile:
    """One call of the backend."""

    def __init__(self, chosen):
        self.options = chosen
        self.programs = []  # per compiled graph: its Program, or None for one that runs eagerly
        self.metadata = None
        self.is_inference = False
        self.recorded = {}  # kind of graph -> what records it and replays it
        self.frozen = {}  # position -> parameter that the program takes for a constant
        self.thawed = None  # the same graph with parameters as inputs
        self.saved_strides_are_free = False
        self.example_inputs = []
        self.inputs = []  # whether each input of the captured graph is a conjugate or negative view

    def run(self, gm, example_inputs):
        self.inputs = [isinstance(x, torch.Tensor) and (x.is_conj() or x.is_neg()) for x in example_inputs]
        self.example_inputs = example_inputs
        if self.is_freezing() and torch.is_grad_enabled():
            raise _C.UserError("freezing=True makes parameters constants: found a compile with gradients enabled, expected torch.no_grad() around the call")
        compiler = aot_autograd(
            fw_compiler=self.compile_forward,
            bw_compiler=self.compile_backward,
            inference_compiler=self.compile_inference,
            partition_fn=self.partition,
            keep_inference_input_mutations=True,
        )
        with torch._functorch.config.patch(unlift_effect_tokens=True), native_ops():
            wrapped = compiler(gm, example_inputs)
        if self.is_inference and len(self.programs) == 1 and self.programs[0] is not None and _needs_no_wrapper(self.metadata, gm, example_inputs):
            counters["handed_off"] += 1
            wrapped = self.callable()
        self.example_inputs = []
        return wrapped

    def is_freezing(self):
        return self.options.get("freezing") in ("true", "1")

    def callable(self):
        """The one program of this compile as a function of the graph's inputs."""
        if not self.frozen:
            return self.recorded.get("inference") or _class_that_calls(self.programs[0].callable_without_dynamo())
        native = self.programs[0].callable()

        def run(*arguments):
            return native(*arguments) if self.has_frozen(arguments) else self.thawed(list(arguments))

        return run

    def has_frozen(self, arguments):
        """Whether the parameters are those that the program was compiled with: Dynamo may call it for another module of the same class."""
        return all(arguments[i] is x or arguments[i].data_ptr() == x.data_ptr() for i, x in self.frozen.items())

    def partition(self, joint, joint_inputs, **kwargs):
        from functorch.compile import min_cut_rematerialization_partition

        forward, backward = min_cut_rematerialization_partition(joint, joint_inputs, compiler="inductor", **kwargs)
        # as_strided speaks of storage as eager lays it out: then what is saved must lie so.
        self.saved_strides_are_free = all(node.target is not torch.ops.aten.as_strided.default for node in backward.graph.nodes)
        return forward, backward

    def compile_inference(self, gm, example_inputs):
        context = torch._guards.TracingContext.try_get()
        self.metadata = context.fw_metadata if context else None
        self.is_inference = True
        return self.compile_graph(gm, "inference")

    def compile_forward(self, gm, example_inputs):
        context = torch._guards.TracingContext.try_get()
        self.metadata = context.fw_metadata if context else None
        if self.metadata is not None:
            self.metadata.bw_donated_idxs = []  # no backward program overwrites what was saved: any call of it may keep the graph
        made = self.compile_graph(gm, "forward", promised=_results_of_the_user() if self.saved_strides_are_free else None)
        # AOTAutograd traces the backward graph with the strides that the saved tensors really have.
        if context is not None and context.output_strides is not None and self.programs[-1] is not None:
            context.output_strides.extend(strides and tuple(strides) for strides in _reports[-1]["output_strides"])
        return made

    def compile_backward(self, gm, example_inputs):
        _restride_placeholders(gm, example_inputs)
        return self.compile_graph(gm, "backward")

    def compile_graph(self, gm, kind, promised=None):
        """`promised`: how many of the first results must have eager's strides; None for all."""
        counters["graphs"] += 1
        if self.options.get("mode", "").startswith("max-autotune"):
            _let_candidates_be_measured()
        name = f"{kind}_{counters['graphs']}"
        started = time.perf_counter()
        exported = None
        try:
            lazy = self.lazy_inputs(gm, kind)
            frozen = self.frozen_inputs(gm, kind)
            exported = export(gm, name, kind == "inference", self.outputs_that_are_inputs(gm, kind), lazy, promised, frozen)
            exported_at = time.perf_counter()
            text = exported.builder.text() if log.wants("graph") else None
            with torch.no_grad(), unset_fake_temporarily(), _without_autocast():
                program = exported.builder.compile([f"{k}={v}" for k, v in self.options.items()], exported.constants)
        except (_C.Unsupported, RuntimeError) as reason:
            return self.fall_back(gm, name, reason, exported)
        finally:
            if exported:
                _torch.forget_opaque(exported.opaque)
        self.programs.append(program)
        report = json.loads(program.report())
        report["name"], report["fallbacks"] = name, []
        report["stage_ms"] = {"export": (exported_at - started) * 1e3, **report["stage_ms"]}
        report["total_ms"] = (time.perf_counter() - started) * 1e3
        self.publish(report, text, program)
        if self.options.get("mode") in ("reduce-overhead", "max-autotune"):
            self.record(gm, kind, program, report, lazy)
        call_boxed = self.recorded[kind].boxed if kind in self.recorded else program.call_boxed

        def run(arguments):
            return call_boxed(arguments)

        def run_resolved(arguments):
            for i in lazy:
                arguments[i] = _resolved(arguments[i])
            return call_boxed(arguments)

        if frozen:
            self.frozen = frozen

            def thawed(arguments):
                self.thawed = _Compile({**self.options, "freezing": "false"}).compile_graph(gm, kind)
                return self.thawed(arguments)

            self.thawed = thawed

        def run_frozen(arguments):
            return call_boxed(arguments) if self.has_frozen(arguments) else self.thawed(arguments)

        made = run_frozen if frozen else run_resolved if lazy else run
        made._boxed_call = True
        return made

    def record(self, gm, kind, program, report, lazy):
        """Lets the graph record itself, or says in the report why not."""
        made = self.recording(gm, kind, program, report, lazy)
        if isinstance(made, Recorded):
            self.recorded[kind] = made
        else:
            report["not_recorded"] = made
            log.not_recorded(report["name"], made)

    def recording(self, gm, kind, program, report, lazy):
        """What records the graph and replays it, or why nothing does."""
        if lazy and kind != "backward":  # gradients are resolved before the call
            return "an input is a conjugate or negative view"
        if reason := recording_refusal(gm, kind, self.metadata, report, _recorder.device_type):
            return reason
        device = next(node.meta["val"].device for node in _placeholders(gm) if isinstance(node.meta["val"], torch.Tensor))
        common = dict(device=device, report=report, recorder=_recorder, call_boxed=program.call_boxed)
        if kind == "inference":
            return Recorded(program.callable(), self.metadata.static_input_indices, **common)
        if kind == "forward":
            results = results_of_forward(gm, self.metadata)
            return Recorded(program.callable(), self.metadata.static_input_indices, results=results, **common) if results else NOT_KNOWN
        if "forward" not in self.recorded:
            return "its forward graph is not recorded"
        saved = saved_arguments(gm, self.recorded["forward"].results)
        return NOT_KNOWN if saved is None else RecordedBackward(program.callable(), self.recorded["forward"], saved, **common)

    def lazy_inputs(self, gm, kind):
        """Positions of the inputs that may have a conjugate or negative bit: their memory does not hold their values."""
        placeholders = _placeholders(gm)
        if kind == "backward":  # a gradient that comes in may have such a bit though the one at capture had none
            return [i for i, node in enumerate(placeholders) if node.name.startswith("tangents_")]
        if not any(self.inputs):
            return []
        if len(placeholders) != len(self.inputs):
            return list(range(len(placeholders)))
        return [i for i, is_lazy in enumerate(self.inputs) if is_lazy]

    def frozen_inputs(self, gm, kind):
        """Input position -> the parameter or buffer that stands for it from now on, under freezing: what changes it later is not seen."""
        if kind != "inference" or not self.is_freezing():
            return {}
        count = len(_placeholders(gm))
        written = self.metadata is None or bool(self.metadata.mutated_inp_runtime_indices)
        if count != len(self.example_inputs) or written or any(self.inputs):
            return {}  # AOTAutograd has other inputs than the captured graph, or some of them are not what they were
        frozen = {i: x for i, x in enumerate(self.example_inputs) if _is_part_of_a_module(x)}
        return {i: x for i, x in frozen.items() if not self.metadata.input_info[i].mutates_data}

    def outputs_that_are_inputs(self, gm, kind):
        """Output position -> input position where AOTAutograd returns the input itself and ignores what the graph gives."""
        if kind != "inference" or self.metadata is None:
            return {}
        try:
            if self.metadata.mutated_inp_runtime_indices:
                return {}
            infos = self.metadata.output_info
            inputs = len(_placeholders(gm))
            return {i: o.base_idx for i, o in enumerate(infos) if o.output_type is OutputType.is_input and o.base_idx < inputs}
        except AttributeError:
            return {}

    def publish(self, report, text, program):
        counters["kernels"] += report["kernels"]
        counters["library_calls"] += sum(report["library_calls"].values())
        counters["extern_calls"] += sum(report["extern_calls"].values())
        _reports.append(report)
        del _reports[:-64]
        log.compiled(report, text, program)

    def fall_back(self, gm, name, reason, exported):
        """The graph runs eagerly, node by node."""
        path = _write_reproduction(gm, name)
        message = f"{name} ({len(gm.graph.nodes)} nodes): {reason}"
        hint = f"reproduce with: litz opt {path}" if path else "the graph has no .ir text"
        if self.options.get("fallback", "eager") == "error":
            raise FallbackError(f"litz does not take {message}; {hint}; fallback=eager runs it eagerly") from reason
        counters["fallbacks"] += 1
        self.programs.append(None)
        _reports.append(
            dict(name=name, kernels=0, kernel_names=[], library_calls={}, extern_calls={}, notes=[], refusals=[], bytes_read=0, bytes_written=0,
                 output_strides=[], stage_ms={}, cpp_paths=[], fallbacks=[str(reason)], total_ms=0.0)
        )  # fmt: skip
        if str(reason) not in _warned:
            _warned.add(str(reason))
            warnings.warn(f"litz runs a region eagerly: {message}; {hint}; options={{'fallback': 'error'}} makes this an error", Fallback, stacklevel=2)

        def run(arguments):
            held = list(arguments)
            arguments.clear()
            return gm(*held)

        run._boxed_call = True
        return run


def _class_that_calls(function):
    """A class whose call is the function's. Dynamo puts a Python function around what a backend gives it, to disable itself meanwhile, which
    takes 0.6 to 1.5 us a call; a class stays as it is. For a function that disables Dynamo by itself."""
    return type("LitzGraph", (type,), {"__call__": function})("litz_graph", (), {})


def _is_part_of_a_module(value):
    """A parameter, or a buffer that Dynamo knows to stay where it is; with its data at hand."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch._subclasses.FakeTensor) or value.layout is not torch.strided:
        return False
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


@contextlib.contextmanager
def _without_autocast():
    token = _torch._autocast_suspend()
    try:
        yield
    finally:
        _torch._autocast_restore(token)


def _results_of_the_user():
    """How many results of a forward graph come before the tensors that it saves for the backward graph; None where that is not known."""
    context = torch._guards.TracingContext.try_get()
    try:
        return context.fw_metadata.num_forward
    except AttributeError:
        return None


def _restride_placeholders(gm, example_inputs):
    """Saved tensors come as the forward program laid them out: `example_inputs` have their strides, the traced placeholders eager's."""
    for node, example in zip(_placeholders(gm), example_inputs, strict=True):
        traced = node.meta.get("val")
        if isinstance(traced, torch.Tensor) and isinstance(example, torch.Tensor) and traced.shape == example.shape and traced.stride() != example.stride():
            node.meta["val"] = example


def _needs_no_wrapper(meta, gm, example_inputs):
    """Whether AOTAutograd's run-time wrappers would do nothing but pass tensors on."""
    try:
        if meta is None or meta.mutated_inp_runtime_indices or meta.num_intermediate_bases or meta.tokens:
            return False
        if meta.grad_enabled_mutation is not None or meta.num_graphsafe_rng_states:
            return False
        if len(meta.input_info) != len(example_inputs) or any(True for _ in gm.parameters()) or any(True for _ in gm.buffers()):
            return False
        if not all(_is_plain(x) for x in example_inputs):
            return False
        if any(type(m).__name__ == "SubclassCreationMeta" for m in list(meta.subclass_inp_meta or []) + list(meta.subclass_fw_graph_out_meta or [])):
            return False
        plain = (OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.is_input)
        return all(o.output_type in plain and not o.dynamic_dims and not o.requires_grad for o in meta.output_info)
    except AttributeError:  # another torch keeps its books otherwise
        return False


def _placeholders(gm):
    return [node for node in gm.graph.nodes if node.op == "placeholder"]


def _resolved(tensor):
    """The same values and strides without a conjugate or negative bit."""
    if not isinstance(tensor, torch.Tensor) or not (tensor.is_conj() or tensor.is_neg()):
        return tensor
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride())  # expanded dimensions
    made[once].copy_(tensor[once])
    return made


def _is_plain(value):
    """A number, or a tensor of no subclass without conjugate or negative bit (a fake tensor stands for one)."""
    if isinstance(value, (int, torch.SymInt, torch.SymFloat)):
        return True
    plain = type(value) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or isinstance(value, torch._subclasses.FakeTensor)
    return plain and not value.is_conj() and not value.is_neg()


def _write_reproduction(gm, name):
    try:
        exported = export(gm, name)
        _torch.forget_opaque(exported.opaque)
        text = exported.builder.text()
    except (_C.Unsupported, RuntimeError):
        return None
    folder = os.path.join(tempfile.gettempdir(), f"litz_{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}_{os.getpid()}.ir")
    with open(path, "w") as file:
        file.write(text)
    return path
