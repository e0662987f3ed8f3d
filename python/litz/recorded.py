"""A compiled graph that records itself: which recording a call replays, when another one is made, when a call runs as compiled."""

import threading
import weakref

import torch

from litz import log
from litz.recording import Recording, Results, let_go

MOST_RECORDINGS = 16  # of one compiled graph: sizes, places of parameters, calls whose results are needed at one time

# Why a call runs as compiled though its graph is recorded.
FIRST = "the first call of its kind"
NEEDED = "results of an earlier call are still needed"
MOVED = "results of an earlier call were in the way; they are given out as copies from now on"
ENOUGH = "no further recordings are made"
FORWARD_RAN = "the forward call ran as compiled"

_lock = threading.Lock()  # held while anything is recorded or replayed
_last_streams = {}  # device -> where the last call of any graph runs


class Recorded:
    """Called like the graph. The report says how many recordings there are, how many inputs every call copies, how many calls ran as compiled
    and why (`unrecorded_calls`), and why nothing is recorded where that is so."""

    def __init__(self, call, static, device, report, recorder, results=Results(), call_boxed=None):
        self.call = call
        self.call_boxed = call_boxed or (lambda arguments: call(*arguments))
        self.static = frozenset(static)
        self.device = device
        self.report = report
        self.recorder = recorder
        self.results = results
        self.recordings = []
        self.kinds = {}  # kind of call -> numbers of recordings in the way of which one such call ran as compiled
        self.most = MOST_RECORDINGS
        self.refused = False
        report["recordings"] = 0
        report["unrecorded_calls"] = {}
        weakref.finalize(self, let_go, self.recordings)

    def __call__(self, *arguments):
        results = self._replayed(list(arguments))
        return self.call(*arguments) if results is None else results

    def boxed(self, arguments):
        results = self._replayed(arguments)
        if results is None:
            return self.call_boxed(arguments)
        arguments.clear()
        return results

    def _replayed(self, arguments):
        """The results of a replay; None where this call runs as compiled."""
        if self.refused:
            return None
        with _lock:
            # Calls follow each other on whichever streams: the last one, of whichever graph, still reads and writes the same memory.
            stream = self.recorder.stream(self.device)
            last_stream = _last_streams.get(self.device, stream)
            if stream != last_stream:
                stream.wait_stream(last_stream)
            _last_streams[self.device] = stream
            known = self._recording_for(arguments)
            if known is None:
                return None
            if self.recordings[0] is not known:  # the last one is tried first
                self.recordings.remove(known)
                self.recordings.insert(0, known)
            return known.run(arguments)

    def _recording_for(self, arguments):
        obstacles = []  # of every recording of such a call
        for made in self.recordings:
            if made.fits(arguments):
                in_the_way = made.in_the_way()
                if not in_the_way:
                    return made
                obstacles.append(in_the_way)
        if any(all(other.may_move(blocks) for other, blocks in in_the_way) for in_the_way in obstacles):
            for other, blocks in (pair for in_the_way in obstacles for pair in in_the_way):
                if other.may_move(blocks):
                    other.hand_out_copies(blocks)
            return self._as_compiled(MOVED)
        return self._new_recording(arguments, len(obstacles))

    def _new_recording(self, arguments, in_use):
        """`in_use`: how many recordings of such a call there are. None where this call runs as compiled: the first that needs so many, or
        one that cannot be recorded."""
        known = self.kinds.setdefault(self._kind_of(arguments), set())
        if len(self.kinds) > MOST_RECORDINGS:
            self._refuse(f"more than {MOST_RECORDINGS} kinds of calls: sizes or places of parameters change all the time")
            return None
        if in_use not in known:
            known.add(in_use)
            return self._as_compiled(NEEDED if in_use else FIRST)
        if len(self.recordings) >= self.most:
            return self._as_compiled(ENOUGH)
        found = self._what_stays(arguments)
        if found is None:
            return None
        given, in_place = found
        let_go([])  # what only waited for its results
        try:
            for i, x in enumerate(given):
                if i not in in_place and isinstance(x, torch.Tensor) and _may_overlap_itself(x):
                    raise RuntimeError(f"input {i} has elements that share memory")
            made = Recording(self.call, given, in_place, self.results, self.recorder, self.device, apart=in_use > 0)
        except RuntimeError as error:
            if not self.recordings:
                self._refuse(str(error))
                return None
            self.most = len(self.recordings)
            self.report["no_further_recordings"] = str(error)
            return self._as_compiled(ENOUGH)
        self.recordings.insert(0, made)
        self.report["recordings"] = len(self.recordings)
        self.report["copied_inputs"] = len(made.copied)
        return made

    def _what_stays(self, arguments):
        """The arguments to record with, and the positions of those that are read in place; None where this call runs as compiled."""
        return arguments, self.static

    def _kind_of(self, arguments):
        """What a recording burns in: the address of what is read in place, shape and strides of what is copied, numbers."""
        return tuple(
            (x.data_ptr() if i in self.static else (x.shape, x.stride())) if isinstance(x, torch.Tensor) else x for i, x in enumerate(arguments)
        )

    def _as_compiled(self, reason):
        counts = self.report["unrecorded_calls"]
        counts[reason] = counts.get(reason, 0) + 1
        return None

    def _refuse(self, reason):
        self.refused = True
        self.report["not_recorded"] = reason
        log.not_recorded(self.report["name"], reason)
        let_go(self.recordings)


def _may_overlap_itself(tensor):
    """Whether elements share memory; False for slices and permutations of tensors whose elements do not."""
    reach = 0  # of the dimensions with smaller strides
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


class RecordedBackward(Recorded):
    """A backward graph. What the recording of its forward call saved is read in place; after a forward call that ran as compiled it runs as
    compiled. `saved`: its argument -> position of that among the results of the forward graph."""

    def __init__(self, call, forward, saved, device, report, recorder, call_boxed=None):
        super().__init__(call, (), device, report, recorder, Results("backward"), call_boxed)
        self.forward = forward
        self.saved = saved

    def _what_stays(self, arguments):
        if self.forward.refused:
            return self._refuse(f"its forward graph is not recorded: {self.forward.report['not_recorded']}")
        for made in self.forward.recordings:
            stays = {i: made.stays[position] for i, position in self.saved.items() if position in made.stays}
            if all(arguments[i].data_ptr() == x.data_ptr() for i, x in stays.items()):
                # The forward recording's own tensors are kept: those that came in tell, by going away, that the forward graph may be replayed.
                return [stays.get(i, x) for i, x in enumerate(arguments)], frozenset(stays)
        return self._as_compiled(FORWARD_RAN)
