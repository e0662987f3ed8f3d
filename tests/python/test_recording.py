"""mode="reduce-overhead" without a device, inference: a recorder of the host stands for CUDA graphs."""

import gc

import litz
import pytest
import torch
from host_recorder import HostRecorder
from litz.recordable import recording_refusal
from litz.recorded import ENOUGH, FIRST, MOST_RECORDINGS, Recorded


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
        (lambda x: (x + 1,), (torch.randn(9).unfold(0, 3, 1),), "elements that share memory"),
    ],
)
def test_what_cannot_be_recorded_runs_as_compiled_with_a_reason(function, arguments, reason):
    f, report = recorded(function)
    for _ in range(3):
        torch.testing.assert_close(f(*arguments)[0], function(*arguments)[0])
    assert reason in report["not_recorded"] and report["recordings"] == 0


@pytest.mark.parametrize(
    "x", [torch.randn(4, 9)[:, :-1], torch.randn(9, 4)[::2], torch.randn(4, 3, 2).permute(2, 0, 1)[1:], torch.randn(1, 5).expand(1, 5), torch.empty(0, 3)]
)
def test_slices_are_recorded(x):
    f, report = recorded(lambda x: (x + 1,))
    for _ in range(3):
        torch.testing.assert_close(f(x)[0], x + 1)
    assert report["recordings"] == 1


def test_a_call_that_cannot_be_recorded_leaves_earlier_recordings():
    f, report = recorded(lambda x: (x + 1,))
    apart, together = torch.randn(4, 3), torch.randn(1, 3).expand(4, 3)
    for x in (apart, together) * 3:
        torch.testing.assert_close(f(x)[0], x + 1)
    assert report["recordings"] == 1 and "share memory" in report["no_further_recordings"]
    assert report["unrecorded_calls"] == {FIRST: 2, ENOUGH: 2}


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


def refusal(gm, metadata, report=NOTHING, kind="inference"):
    return recording_refusal(gm, kind, metadata, report, "cuda")


def test_refusals_have_reasons():
    plain = traced(lambda x: x + 1, (2, 3))
    assert refusal(plain, Meta(1)) is None
    assert "input 0 is mutated" in refusal(plain, Meta(1, mutated=[0]))
    assert refusal(plain, Meta(1, static=[0], mutated=[0])) is None
    assert "cpu" in refusal(traced(lambda x: x + 1, (2, 3), device="cpu"), Meta(1))
    assert "number" in refusal(traced(lambda x: x.nonzero(), (2, 3)), Meta(1))
    assert refusal(traced(lambda x, i: x[i.long()], (2, 3), (2,)), Meta(2)) is None
    assert "Python" in refusal(plain, Meta(1), dict(library_calls={}, extern_calls={"litz_python.loop_1": 1}))
    assert "one by one" in refusal(plain, None)
    assert refusal(plain, None, kind="backward") is None
    assert "copy_" in refusal(traced(lambda x: x.copy_(x + 1), (2, 3)), None, kind="backward")


def test_draws_are_recorded_where_a_replay_draws_anew():
    attention = torch.ops.aten._scaled_dot_product_efficient_attention
    shapes = [(1, 2, 16, 16)] * 3
    for draw in (torch.rand_like, torch.bernoulli, lambda x: torch.native_dropout(x, 0.5, True)[0], lambda x: torch.randn(3, device=x.device)):
        assert refusal(traced(draw, (2, 3)), Meta(1)) is None
    assert "random" in refusal(traced(lambda x: torch.multinomial(x, 2), (2, 3)), Meta(1))
    assert refusal(traced(lambda q, k, v: attention(q, k, v, None, True)[0], *shapes), Meta(3)) is None
    assert "random" in refusal(traced(lambda q, k, v: attention(q, k, v, None, True, 0.5)[0], *shapes), Meta(3))


def test_on_the_host_the_mode_says_why_it_does_not_record():
    torch._dynamo.reset()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(lambda x: x + 1, backend="litz", mode="reduce-overhead")(torch.ones(3)), torch.full((3,), 2.0))
    assert "cpu" in litz.last_report()["not_recorded"]
