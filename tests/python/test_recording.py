"""mode="reduce-overhead" without a device: a recorder of the host stands for CUDA graphs; it keeps what a graph keeps, addresses."""

import gc

import pytest
import torch

import litz
from litz.cuda_graphs import MOST_RECORDINGS, Recorded, recording_refusal


class HostRecorder:
    """A "graph" that computes from the tensors it was recorded with into the tensors that the recording gave."""

    recorded = 0

    def __init__(self, on_used=()):
        self.on_used = set(on_used)

    def record(self, device, run):
        HostRecorder.recorded += 1
        outputs = run()

        def replay():
            for kept, fresh in zip(outputs, run()):
                kept.copy_(fresh)

        return replay, outputs, None, self.on_used

    def view(self, output):
        storage = output.untyped_storage()

        def make():
            raw = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), output.device, storage.nbytes())
            typed = torch.storage.TypedStorage(wrap_storage=raw, dtype=output.dtype, _internal=True)
            return torch.empty(0, dtype=output.dtype).set_(typed._untyped_storage, output.storage_offset(), output.shape, output.stride())

        return make

    def stream(self, device):
        return "one"


def recorded(function, static=(), on_used=()):
    report = dict(name="test")
    return Recorded(function, static, torch.device("cpu"), report, HostRecorder(on_used)), report


def double_and_sum(x, w):
    return x * 2 + w, (x * w).sum()


def test_replays_give_what_the_graph_gives_for_new_inputs():
    f, report = recorded(double_and_sum, static=[1])
    w = torch.randn(4)
    for _ in range(5):
        x = torch.randn(3, 4)
        for actual, expected in zip(f(x, w), double_and_sum(x, w)):
            torch.testing.assert_close(actual, expected)
    assert report["recordings"] == 1 and report["copied_inputs"] == 1


def test_a_change_inside_a_parameter_is_seen_and_another_parameter_is_recorded_anew():
    f, report = recorded(double_and_sum, static=[1])
    x, w = torch.randn(3, 4), torch.randn(4)
    f(x, w), f(x, w)
    w.add_(1)
    torch.testing.assert_close(f(x, w)[0], x * 2 + w)
    other = torch.randn(4)
    for _ in range(3):
        torch.testing.assert_close(f(x, other)[0], x * 2 + other)
        torch.testing.assert_close(f(x, w)[0], x * 2 + w)
    assert report["recordings"] == 2


def test_every_shape_stride_and_number_has_its_recording():
    f, report = recorded(lambda x, n: (x * n,))
    for x, n in ((torch.randn(3, 4), 2), (torch.randn(5, 4), 2), (torch.randn(4, 3).t(), 2), (torch.randn(3, 4), 7)):
        for _ in range(3):
            torch.testing.assert_close(f(x, n)[0], x * n)
    assert report["recordings"] == 4


def test_an_overwritten_output_is_an_error_and_the_last_one_is_not():
    f, _ = recorded(double_and_sum)
    x, w = torch.randn(3, 4), torch.randn(4)
    f(x, w)
    old = f(x, w)[0]
    torch.testing.assert_close(old, x * 2 + w)
    new = f(x + 1, w)[0]
    torch.testing.assert_close(new, (x + 1) * 2 + w)
    with pytest.raises(RuntimeError, match=r"overwritten.*clone"):
        old + 1


def test_an_output_on_memory_that_an_earlier_recording_uses_is_an_error_after_its_replay():
    x, w = torch.randn(3, 4), torch.randn(4)
    earlier, _ = recorded(double_and_sum)
    later, _ = recorded(double_and_sum, on_used=[0])
    latest, _ = recorded(double_and_sum)
    for f in (earlier, later, latest):
        f(x, w), f(x, w)
    on_used, apart = later(x, w)
    latest(x, w)
    torch.testing.assert_close(on_used, x * 2 + w)
    earlier(x, w)
    with pytest.raises(RuntimeError, match=r"another graph.*clone"):
        on_used + 1
    torch.testing.assert_close(apart, (x * w).sum())
    torch.testing.assert_close(later(x, w)[0], x * 2 + w)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("size", [256, 1024, 2048])
def test_outputs_on_a_gpu_are_right_or_an_error_after_calls_of_other_graphs(size):
    compiled = [
        torch.compile(lambda x, w: torch.softmax((x @ w) @ w, -1).sum(0), backend="litz", mode="reduce-overhead"),
        torch.compile(lambda x, w: torch.tanh(x) + w, backend="litz", mode="reduce-overhead"),
        torch.compile(lambda x, w: (x @ w).relu() @ w, backend="litz", mode="reduce-overhead"),
    ]
    x, w = torch.randn(2, size, size, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            for f in compiled:
                f(x, w)
        for f in compiled:
            kept = f(x, w)
            copy = kept.clone()
            for other in compiled:
                if other is not f:
                    other(x, w)
            try:
                assert torch.equal(kept, copy)
            except RuntimeError as error:
                assert "another graph" in str(error)
            f(x, w)


def test_an_output_whose_graph_is_gone_is_an_error():
    f, _ = recorded(double_and_sum)
    x, w = torch.randn(3, 4), torch.randn(4)
    f(x, w)
    out = f(x, w)[0]
    del f
    gc.collect()
    with pytest.raises(RuntimeError, match="went back"):
        out + 1


@pytest.mark.parametrize(
    "function, arguments, reason",
    [
        (lambda x: (x.view(-1),), (torch.randn(2, 3),), "shares the memory of an input"),
        (lambda x: (x + 1,), (torch.randn(1, 3).expand(4, 3),), "elements that share memory"),
    ],
)
def test_what_cannot_be_recorded_runs_as_compiled_with_a_reason(function, arguments, reason):
    f, report = recorded(function)
    for _ in range(3):
        torch.testing.assert_close(f(*arguments)[0], function(*arguments)[0])
    assert reason in report["not_recorded"] and report["recordings"] == 0


def test_calls_that_never_repeat_stop_recording():
    f, report = recorded(lambda x: (x + 1,))
    for n in range(2, MOST_RECORDINGS + 8):
        torch.testing.assert_close(f(torch.ones(n))[0], torch.full((n,), 2.0))
    assert "kinds of calls" in report["not_recorded"]


class Meta:
    def __init__(self, inputs, static=(), mutated=()):
        info = lambda i: type("Info", (), dict(mutates_data=i in mutated, mutates_metadata=False))()
        self.input_info, self.static_input_indices = [info(i) for i in range(inputs)], list(static)


def traced(function, *shapes, device="cuda"):
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True)):
        return make_fx(function)(*[torch.empty(s, device=device) for s in shapes])


NOTHING = dict(library_calls={}, extern_calls={})


def test_refusals_have_reasons():
    plain = traced(lambda x: x + 1, (2, 3))
    assert recording_refusal(plain, Meta(1), NOTHING) is None
    assert "input 0 is mutated" in recording_refusal(plain, Meta(1, mutated=[0]), NOTHING)
    assert recording_refusal(plain, Meta(1, static=[0], mutated=[0]), NOTHING) is None
    assert "cpu" in recording_refusal(traced(lambda x: x + 1, (2, 3), device="cpu"), Meta(1), NOTHING)
    assert "random" in recording_refusal(traced(lambda x: torch.rand_like(x) + x, (2, 3)), Meta(1), NOTHING)
    assert "number" in recording_refusal(traced(lambda x: x.nonzero(), (2, 3)), Meta(1), NOTHING)
    assert recording_refusal(traced(lambda x, i: x[i.long()], (2, 3), (2,)), Meta(2), NOTHING) is None
    assert "Python" in recording_refusal(plain, Meta(1), dict(library_calls={}, extern_calls={"litz_python.loop_1": 1}))
    assert "one by one" in recording_refusal(plain, None, NOTHING)


def test_on_the_host_the_mode_says_why_it_does_not_record():
    torch._dynamo.reset()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(lambda x: x + 1, backend="litz", mode="reduce-overhead")(torch.ones(3)), torch.full((3,), 2.0))
    assert "cpu" in litz.last_report()["not_recorded"]
