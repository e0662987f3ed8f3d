"""mode="reduce-overhead": a compiled graph is recorded as a CUDA graph and replayed, one launch for the whole call.

The first call with given sizes runs as always and warms libraries up; the second records; every later one copies the inputs into the
recording's own tensors and replays. Inputs that AOTAutograd knows to stay where they are (parameters, buffers) are read in place, and so
is what a forward graph's recording saved for its backward graph. `recordable.py` says which graphs can be recorded, `recording.py` what one
recording gives out and what may become of it, `recorded.py` which recording a call replays. Here is the part that talks to the device.

Recordings of a device share one pool of memory: temporaries of one lie where those of another lay, so replays follow each other. No
temporary lies on an earlier recording's outputs; outputs may lie on an earlier one's temporaries, and every recording knows which of its
do. Memory goes back to torch's allocator with the last recording. A recording that is to be replayed while results of others are needed has
a pool of its own.
"""

import contextlib
import functools
import weakref

import torch

_pools = {}  # device -> weak reference to what holds the pool


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


class CudaRecorder:
    """Records and replays through torch. What tests replace to run without a device."""

    device_type = "cuda"

    def record(self, device, call, arguments, apart):
        """Records call(*arguments), in a pool of its own if `apart`, and returns (replay function, what the call returned, what holds the
        memory, positions of the tensors among what it returned that lie where temporaries of earlier recordings lay)."""
        pool = _Pool(device) if apart else _pool(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device):
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()  # of calls as compiled: while recording, torch gives no cached memory back to find room
            # cuBLAS has a workspace for every stream, of 32 MiB or more on recent devices: this one's lies in the pool while the graph is
            # recorded, where later recordings may use its memory, and those of other streams are made again when they are asked for.
            torch._C._cuda_clearCublasWorkspaces()
            unused = _unused_ranges(pool)
            with torch.cuda.stream(pool.stream):
                torch.cuda.current_blas_handle()  # a handle belongs to a thread, and backward graphs may be recorded in any
                torch._C._cuda_clearCublasWorkspaces()
                graph.capture_begin(pool=pool.handle, capture_error_mode="thread_local")
                try:
                    outputs = call(*arguments)
                except BaseException:
                    with contextlib.suppress(RuntimeError):  # of a capture that is invalid by now; what made it so is raised
                        graph.capture_end()
                    raise
                graph.capture_end()
            torch._C._cuda_clearCublasWorkspaces()
        on_used = {i for i, x in enumerate(outputs) if isinstance(x, torch.Tensor) and _lies_in(x, unused)}
        return graph.replay, outputs, (graph, pool), on_used

    def storage_maker(self, tensor):
        """A function that makes another storage on a tensor's memory, which does not hold it."""
        storage = tensor.untyped_storage()
        return functools.partial(torch._C._construct_storage_from_data_pointer, storage.data_ptr(), tensor.device, storage.nbytes())

    def tensor_maker(self, tensor):
        """A function that makes a tensor which lies on a given storage as `tensor` does on its own."""
        where = dict(size=tensor.shape, stride=tensor.stride(), dtype=tensor.dtype, device=tensor.device, storage_offset=tensor.storage_offset())
        where.update(nbytes=tensor.untyped_storage().nbytes(), data_ptr=tensor.untyped_storage().data_ptr())
        return functools.partial(torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata, where)

    def stream(self, device):
        return torch.cuda.current_stream(device)
