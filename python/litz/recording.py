"""One recording of a compiled graph: the tensors that it reads and writes, and what its last replay gave out.

A replay gives out new tensors on the recording's own memory. Their storages do not hold that memory, and weak references to the storages
tell whether anybody still has a tensor there, a view or a detached one too. What may become of such a tensor depends on the graph:

- Inference, results of the user: the next replay overwrites them, so may one of an earlier recording; using one afterwards is an error.
- Forward graphs, what is saved for the backward graph: no replay overwrites it. While some of it is there a backward call is to come, which
  may need the user's results as well.
- Forward graphs, results of the user: the next replay overwrites them, as in inference, once nothing that was saved is left.
- Backward graphs, gradients: no replay overwrites them; autograd makes them the .grad of parameters without a copy.

What a replay must not overwrite is in its way: the call runs as compiled, or another recording is replayed or made, in memory of its own.
Only saved tensors have to stay where they were recorded; other results of training that were in the way are given out as copies from then on.
"""

import contextlib
import itertools
import math
import weakref
from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

OVERWRITTEN = (
    "this tensor is an output of a call under mode='reduce-overhead' and a later call of the same graph has overwritten it; "
    "clone() what must outlive the next call"
)
OVERWRITTEN_BY_ANOTHER = (
    "this tensor is an output of a call under mode='reduce-overhead' and a call of another graph, which was recorded before, has used its "
    "memory; clone() what must outlive that call"
)
GIVEN_BACK = "this tensor is an output of a call under mode='reduce-overhead' and its memory went back with the compiled graph; clone() it before"

_is_gone = torch.UntypedStorage._expired  # StorageWeakRef.expired() does the same by way of Python, slowly
_numbers = itertools.count()
_on_used_memory = weakref.WeakSet()  # recordings with results that an earlier recording overwrites
_outliving = []  # recordings whose graph is gone, with results of training that somebody still has


@dataclass(frozen=True)
class Results:
    """What a graph's results are for."""

    kind: str = "inference"  # or "forward" or "backward"
    saved: frozenset = frozenset()  # forward: positions of what goes to the backward graph
    unwatched_inputs: frozenset = frozenset()  # forward: inputs without gradients; the recording's copy of one may be saved in its place
    moved: set = field(default_factory=set)  # positions of results that were in the way once


class Recording:
    """One CUDA graph with its tensors."""

    def __init__(self, call, arguments, in_place, results, recorder, device, apart):
        self.copied = [i for i, x in enumerate(arguments) if isinstance(x, torch.Tensor) and i not in in_place]
        self.in_place = [i for i in sorted(in_place) if isinstance(arguments[i], torch.Tensor)]
        self.numbers = [(i, x) for i, x in enumerate(arguments) if not isinstance(x, torch.Tensor)]
        given = list(arguments)
        with torch.inference_mode(False), torch.no_grad():
            for i in self.copied:
                x = arguments[i]
                given[i] = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
                given[i].copy_(x)
        self.inputs = [given[i] for i in self.copied]
        self.shapes = [(x.shape, x.stride()) for x in self.inputs]
        self.addresses = [None] * len(given)
        for i in self.in_place:
            self.addresses[i] = given[i].data_ptr()
        self.given = given  # parameters too: their memory must not be given to anything else while a replay reads it
        self.results = results
        self.device = device
        self.recorder = recorder
        self.number = next(_numbers)
        self.apart = apart  # it shares no memory with others
        self.replay, self.outputs, self.memory, on_used = recorder.record(device, call, given, apart)
        self.blocks = []  # pieces of the recording's own memory: positions of the results on each
        self.block_of = {}  # the same from position to block
        self.stays = {}  # position -> tensor at the place where the result lies after every replay
        self.makers = self._result_makers()
        self.storage_makers = [recorder.storage_maker(self.outputs[min(positions)]) for positions in self.blocks]
        self.saved_blocks = {k for k, positions in enumerate(self.blocks) if positions <= results.saved}
        self.blocks_on_used = {k for k, positions in enumerate(self.blocks) if positions & on_used}
        self.handed_as_copies = {}  # block -> its memory as a tensor of integers
        self.given_out = {}  # block -> weak reference to the storage that the last replay gave out
        if self.blocks_on_used:
            _on_used_memory.add(self)
        self.hand_out_copies({k for k, positions in enumerate(self.blocks) if k not in self.saved_blocks and positions & results.moved})

    def _result_makers(self):
        """For every result a function of (arguments of the call, storages of the blocks, results before it) that gives it."""
        inputs = {x.untyped_storage().data_ptr(): i for i, x in enumerate(self.given) if isinstance(x, torch.Tensor) and x.numel()}
        first, block_at = {}, {}  # identity of a tensor -> its first position; address -> block
        return [self._result_maker(position, x, inputs, first, block_at) for position, x in enumerate(self.outputs)]

    def _result_maker(self, position, x, inputs, first, block_at):
        if not isinstance(x, torch.Tensor):
            return lambda arguments, storages, made: x
        is_saved = position in self.results.saved
        if x.device != self.device and is_saved:  # a seed on the host of an attention that draws nothing
            self.stays[position] = x
            return lambda arguments, storages, made: x
        if x.device != self.device:
            raise RuntimeError(f"output {position} is on {x.device}")
        earlier = first.setdefault(id(x), position)
        if earlier < position and earlier not in self.block_of:
            if earlier in self.stays:
                self.stays[position] = x
            return lambda arguments, storages, made: made[earlier]
        same = next((i for i, given in enumerate(self.given) if given is x), None)
        if same is not None and not (is_saved and same in self.copied and same in self.results.unwatched_inputs):
            if same in self.in_place:
                self.stays[position] = x
            return lambda arguments, storages, made: arguments[same]
        shared = inputs.get(x.untyped_storage().data_ptr()) if x.numel() else None
        if shared is not None and (self.results.kind == "inference" or (self.results.kind == "backward" and shared in self.in_place)):
            raise RuntimeError(f"output {position} shares the memory of an input")
        self.stays[position] = x
        if shared is not None and shared in self.in_place:  # a view of a parameter
            return lambda arguments, storages, made: x.detach()
        block_of = self.block_of
        block_of[position] = block_at.setdefault(x.untyped_storage().data_ptr(), len(self.blocks))
        if block_of[position] == len(self.blocks):
            self.blocks.append(set())
        self.blocks[block_of[position]].add(position)
        make = self.recorder.tensor_maker(x)
        if earlier < position:  # the same object again: what writes into one is seen by the version of the other
            return lambda arguments, storages, made: (
                made[earlier] if block_of[earlier] == block_of[position] else make(storages[block_of[position]])
            )
        return lambda arguments, storages, made: make(storages[block_of[position]])

    @property
    def witnesses(self):
        """Blocks of which one that somebody has means that all are needed."""
        return () if self.results.kind == "inference" else self.saved_blocks or range(len(self.blocks))

    def fits(self, arguments):
        """Whether a call with these arguments is what was recorded."""
        return (
            all(arguments[i] == number for i, number in self.numbers)
            and all((arguments[i].shape, arguments[i].stride()) == shape for i, shape in zip(self.copied, self.shapes))
            and torch._C._tensors_data_ptrs_at_indices_equal(arguments, self.addresses, self.in_place)
        )

    def in_the_way(self):
        """What a replay would overwrite though somebody needs it: a list of (recording, its blocks)."""
        found = []
        if self.results.kind != "inference":
            alive = self._alive().keys()
            if any(k in alive for k in self.witnesses):
                found.append((self, set(alive)))
        for other in self._overwritten_by_a_replay():
            if other.results.kind != "inference" and (blocks := other.blocks_on_used & other._alive().keys()):
                found.append((other, blocks))
        return found

    def may_move(self, blocks):
        """Whether giving copies out will keep these blocks free: nobody reads them at a fixed address, and what is there now is not left from
        a replay before copies were given out."""
        return self.saved_blocks.isdisjoint(blocks) and not blocks <= self.handed_as_copies.keys()

    def hand_out_copies(self, blocks):
        """From now on the results on these blocks are given out as copies, all but what is saved of them."""
        for block in blocks:
            self._set_apart(block, self.blocks[block] & self.results.saved)
            self.results.moved.update(self.blocks[block])
            tensor = self.outputs[min(self.blocks[block])]
            storage = tensor.untyped_storage()
            size = math.gcd(storage.nbytes(), 8)
            dtype = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}[size]
            with torch.inference_mode(False), torch.no_grad():
                whole = torch.empty(0, dtype=dtype, device=tensor.device).set_(storage, 0, (storage.nbytes() // size,), (1,))
            self.handed_as_copies[block] = whole

    def _set_apart(self, block, saved):
        """Makes a block of its own of the results at the positions `saved`, on the same memory."""
        if not saved:
            return
        made = len(self.blocks)
        self.blocks[block] -= saved
        self.blocks.append(saved)
        self.block_of.update(dict.fromkeys(saved, made))
        self.storage_makers.append(self.recorder.storage_maker(self.outputs[min(saved)]))
        self.saved_blocks.add(made)
        if block in self.blocks_on_used:
            self.blocks_on_used.add(made)
        if block in self.given_out:
            self.given_out[made] = self.given_out[block]

    def run(self, arguments):
        if self.copied:
            torch._foreach_copy_(self.inputs, [arguments[i] for i in self.copied])
        self.close(OVERWRITTEN)
        for other in self._overwritten_by_a_replay():
            if other.results.kind == "inference":
                other.close(OVERWRITTEN_BY_ANOTHER, other.blocks_on_used)
        self.replay()
        storages = [make() for make in self.storage_makers]
        if self.handed_as_copies:
            with torch.inference_mode(False), torch.no_grad():
                copies = [torch.empty_like(whole) for whole in self.handed_as_copies.values()]
                torch._foreach_copy_(copies, list(self.handed_as_copies.values()))
            for block, copy in zip(self.handed_as_copies, copies):
                storages[block] = copy.untyped_storage()
        self.given_out = {k: StorageWeakRef(x) for k, x in enumerate(storages) if k not in self.handed_as_copies}
        made = []
        for make in self.makers:
            made.append(make(arguments, storages, made))
        return tuple(made)

    def close(self, why, blocks=None):
        """Makes using the tensors of the last replay an error: all of them, or those on `blocks`."""
        for block in list(self.given_out if blocks is None else blocks & self.given_out.keys()):
            storage = self.given_out.pop(block)
            if not _is_gone(storage.cdata):
                torch._C._set_storage_data_ptr_access_error_msg(storage.cdata, why)

    def _alive(self):
        self.given_out = {k: storage for k, storage in self.given_out.items() if not _is_gone(storage.cdata)}
        return self.given_out

    def _overwritten_by_a_replay(self):
        """The recordings with results that lie where this one's temporaries may lie."""
        return [other for other in _on_used_memory if other.number > self.number and other.device == self.device and not self.apart]


def let_go(recordings):
    """Ends recordings and empties the list. The memory of what training gave out stays until nobody has any of it."""
    _outliving.extend(recordings)
    recordings.clear()
    for ended in list(_outliving):
        if ended.results.kind == "inference" or not ended._alive():
            ended.close(GIVEN_BACK)
            with contextlib.suppress(ValueError):  # the garbage collector may have come here in between
                _outliving.remove(ended)
