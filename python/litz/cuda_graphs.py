"""mode="reduce-overhead": a compiled inference graph is recorded as a CUDA graph and replayed, one launch for the whole call.

The first call with given sizes runs as always and warms libraries up; the second records; every later one copies the inputs into the
recording's own tensors and replays. Inputs that AOTAutograd knows to stay where they are (parameters, buffers) are read in place: a call
that brings another is recorded anew. Outputs are tensors on the recording's memory: the next call with the same sizes overwrites them, and
using one that was overwritten is an error. What cannot be recorded runs as compiled, with the reason in litz.last_report().

All recordings of a device share one pool of memory: temporaries of one lie where those of another lay, so replays follow each other. No
temporary lies on an earlier recording's outputs; where outputs lie on an earlier one's temporaries, its replay makes using them an error.
Memory goes back to torch's allocator with the last recording.
"""

import contextlib
import itertools
import threading
import weakref

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from litz import log

MOST_RECORDINGS = 16  # of one compiled graph: sizes and places of parameters; beyond it calls run as compiled

OVERWRITTEN = (
    "this tensor is an output of a call under mode='reduce-overhead' and a later call of the same graph has overwritten it; "
    "clone() what must outlive the next call"
)
OVERWRITTEN_BY_ANOTHER = (
    "this tensor is an output of a call under mode='reduce-overhead' and a call of another graph, which was recorded before, has used its "
    "memory; clone() what must outlive that call"
)
GIVEN_BACK = "this tensor is an output of a call under mode='reduce-overhead' and its memory went back with the compiled graph; clone() it before"

_pools = {}  # device -> weak reference to what holds the pool
_lock = threading.Lock()  # held while anything is recorded or replayed
_last_streams = {}  # device -> where the last replay runs
_on_used_memory = weakref.WeakSet()  # recordings with outputs that an earlier recording overwrites
_numbers = itertools.count()


class _Pool:
    def __init__(self, device):
        self.handle = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream(device)


def _pool(device):
    pool = _pools[device]() if device in _pools else None
    if pool is None:
        pool = _Pool(device)
        _pools[device] = weakref.ref(pool)
    return pool


def _unused_ranges(pool):
    """Where in the pool's memory no tensor lies at present: addresses of the beginning and the end."""
    segments = [s for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) == tuple(pool.handle)]
    blocks = [block for segment in segments for block in segment["blocks"] if block["state"] == "inactive"]
    return [(block["address"], block["address"] + block["size"]) for block in blocks]


def _lies_in(tensor, ranges):
    begin = tensor.untyped_storage().data_ptr()
    end = begin + tensor.untyped_storage().nbytes()
    return any(begin < last and first < end for first, last in ranges)


def recording_refusal(gm, metadata, report):
    """Why a captured graph cannot be recorded, or None. `report` tells of the calls that the compiled graph makes."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    if metadata is None or len(metadata.input_info) != len(placeholders):
        return "its inputs are not known one by one"
    static = set(metadata.static_input_indices)
    for i, info in enumerate(metadata.input_info):
        if (info.mutates_data or info.mutates_metadata) and i not in static:
            return f"input {i} is mutated"
    devices = {x.device for node in gm.graph.nodes for x in _tensors_of(node)}
    if len(devices) != 1 or next(iter(devices)).type != "cuda":
        return f"its tensors are on {', '.join(sorted(map(str, devices))) or 'no device'}"
    for node in gm.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if torch.Tag.nondeterministic_seeded in node.target.tags and not _is_attention_without_dropout(node):
            return f"{node.target} draws random numbers"
        if _gives_numbers_of_the_run(node):
            return f"{node.target} gives the host a number"
    for name in (*report["library_calls"], *report["extern_calls"]):
        if name.startswith("litz_python.") and "scaled_dot_product" not in name:
            return f"{name} runs Python"
    return None


def _tensors_of(node):
    value = node.meta.get("val")
    return [x for x in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(x, torch.Tensor)]


def _gives_numbers_of_the_run(node):
    value = node.meta.get("val")
    leaves = value if isinstance(value, (tuple, list)) else (value,)
    sizes = [x for leaf in leaves for x in (leaf.shape if isinstance(leaf, torch.Tensor) else (leaf,))]
    return any(isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool)) and free_unbacked_symbols(x) for x in sizes)


def _is_attention_without_dropout(node):
    if "scaled_dot_product" not in str(node.target):
        return False
    names = [a.name for a in node.target._schema.arguments]
    given = dict(zip(names, node.args)) | dict(node.kwargs)
    return given.get("dropout_p", 0.0) == 0.0


class CudaRecorder:
    """Records and replays through torch. What tests replace to run without a device."""

    def record(self, device, run):
        """Records run() and returns (replay function, what run returned, what holds the memory, positions of the tensors among what run
        returned that lie where temporaries of earlier recordings lay)."""
        pool = _pool(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device):
            torch.cuda.synchronize(device)
            # cuBLAS has a workspace for every stream, of 32 MiB or more on recent devices: this one's lies in the pool while the graph is
            # recorded, where later recordings may use its memory, and those of other streams are made again when they are asked for.
            torch._C._cuda_clearCublasWorkspaces()
            unused = _unused_ranges(pool)
            with torch.cuda.stream(pool.stream):
                graph.capture_begin(pool=pool.handle, capture_error_mode="thread_local")
                try:
                    outputs = run()
                except BaseException:
                    with contextlib.suppress(RuntimeError):  # of a capture that is invalid by now; what made it so is raised
                        graph.capture_end()
                    raise
                graph.capture_end()
            torch._C._cuda_clearCublasWorkspaces()
        on_used = {i for i, x in enumerate(outputs) if isinstance(x, torch.Tensor) and _lies_in(x, unused)}
        return graph.replay, outputs, (graph, pool), on_used

    def view(self, output):
        """Another tensor on an output's memory, with a storage of its own that does not hold it."""
        storage = output.untyped_storage()
        where = dict(size=output.shape, stride=output.stride(), dtype=output.dtype, device=output.device, storage_offset=output.storage_offset())
        where.update(nbytes=storage.nbytes(), data_ptr=storage.data_ptr())
        again = torch._C._construct_storage_from_data_pointer
        make = torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata
        return lambda: make(where, again(where["data_ptr"], where["device"], where["nbytes"]))

    def stream(self, device):
        return torch.cuda.current_stream(device)


class _Recording:
    """One CUDA graph with its tensors."""

    def __init__(self, call, arguments, static, recorder, device):
        self.copied = [i for i, x in enumerate(arguments) if isinstance(x, torch.Tensor) and i not in static]
        self.in_place = [i for i in sorted(static) if isinstance(arguments[i], torch.Tensor)]
        self.numbers = [(i, x) for i, x in enumerate(arguments) if not isinstance(x, torch.Tensor)]
        given = list(arguments)
        with torch.inference_mode(False), torch.no_grad():
            for i in self.copied:
                x = arguments[i]
                given[i] = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
                given[i].copy_(x)
        self.inputs = [given[i] for i in self.copied]
        self.shapes = [(x.shape, x.stride()) for x in self.inputs]
        self.addresses = [x.data_ptr() if i in static and isinstance(x, torch.Tensor) else None for i, x in enumerate(given)]
        self.held = given  # parameters too: their memory must not be given to anything else while a replay reads it
        self.number = next(_numbers)
        self.device = device
        self.replay, self.outputs, self.memory, self.on_used = recorder.record(device, lambda: call(*given))
        storages = {x.untyped_storage().data_ptr() for x in given if isinstance(x, torch.Tensor)}
        for position, x in enumerate(self.outputs):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() in storages and x.numel():
                raise RuntimeError(f"output {position} shares the memory of an input")
        self.makers = [recorder.view(x) if isinstance(x, torch.Tensor) else (lambda x=x: x) for x in self.outputs]
        self.given_out = {}  # position -> tensor of the last replay
        if self.on_used:
            _on_used_memory.add(self)

    def fits(self, arguments):
        """Whether a call with these arguments is what was recorded."""
        return (
            all(arguments[i] == number for i, number in self.numbers)
            and all((arguments[i].shape, arguments[i].stride()) == shape for i, shape in zip(self.copied, self.shapes))
            and torch._C._tensors_data_ptrs_at_indices_equal(arguments, self.addresses, self.in_place)
        )

    def run(self, arguments):
        if self.copied:
            torch._foreach_copy_(self.inputs, [arguments[i] for i in self.copied])
        self.close(OVERWRITTEN)
        for other in _on_used_memory:
            if other.number > self.number and other.device == self.device:
                other.close(OVERWRITTEN_BY_ANOTHER, other.on_used)
        self.replay()
        made = tuple(make() for make in self.makers)
        self.given_out = {i: x for i, x in enumerate(made) if isinstance(x, torch.Tensor)}
        return made

    def close(self, why, positions=None):
        """Makes using the tensors of the last replay an error: all of them, or those at `positions`."""
        for i in list(self.given_out if positions is None else positions & self.given_out.keys()):
            torch._C._set_storage_access_error_msg(self.given_out.pop(i), why)


class Recorded:
    """A compiled graph that records itself. Called like the graph. The report says how many recordings there are, how many inputs every
    call copies, and why nothing is recorded where that is so."""

    def __init__(self, call, static, device, report, recorder=None):
        self.call = call
        self.static = frozenset(static)
        self.device = device
        self.report = report
        self.recorder = recorder or CudaRecorder()
        self.recordings = []
        self.seen = set()  # kinds of calls that ran once
        self.refused = False
        report["recordings"] = 0
        weakref.finalize(self, _close_all, self.recordings)

    def __call__(self, *arguments):
        if self.refused:
            return self.call(*arguments)
        arguments = list(arguments)
        with _lock:
            known = next((r for r in self.recordings if r.fits(arguments)), None) or self._new_recording(arguments)
            if known is None:
                return self.call(*arguments)
            if self.recordings[0] is not known:  # the last one is tried first
                self.recordings.remove(known)
                self.recordings.insert(0, known)
            stream = self.recorder.stream(self.device)
            last_stream = _last_streams.get(self.device, stream)
            if stream != last_stream:
                stream.wait_stream(last_stream)  # the last replay, of whichever graph, still reads and writes the same memory
            _last_streams[self.device] = stream
            return known.run(arguments)

    def boxed(self, arguments):
        held = list(arguments)
        arguments.clear()
        return self(*held)

    def _new_recording(self, arguments):
        """None where this call runs as compiled: the first of its kind, or one that cannot be recorded."""
        kind = tuple(self._kind_of(i, x) for i, x in enumerate(arguments))
        if kind not in self.seen:
            self.seen.add(kind)
            if len(self.seen) > MOST_RECORDINGS:
                self._refuse(f"more than {MOST_RECORDINGS} kinds of calls: sizes or places of parameters change all the time")
            return None
        try:
            for i, x in enumerate(arguments):
                if i not in self.static and isinstance(x, torch.Tensor) and torch._debug_has_internal_overlap(x) != 0:
                    raise RuntimeError(f"input {i} has elements that share memory")
            made = _Recording(self.call, arguments, self.static, self.recorder, self.device)
        except RuntimeError as error:
            self._refuse(str(error))
            return None
        self.recordings.insert(0, made)
        self.report["recordings"] = len(self.recordings)
        self.report["copied_inputs"] = len(made.copied)
        return made

    def _kind_of(self, position, argument):
        """What a recording burns in: the address of what is read in place, shape and strides of what is copied, numbers."""
        if not isinstance(argument, torch.Tensor):
            return argument
        return argument.data_ptr() if position in self.static else (argument.shape, argument.stride())

    def _refuse(self, reason):
        self.refused = True
        self.report["not_recorded"] = reason
        log.not_recorded(self.report["name"], reason)
        _close_all(self.recordings)


def _close_all(recordings):
    for made in recordings:
        made.close(GIVEN_BACK)
    recordings.clear()
