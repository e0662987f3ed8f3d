"""The path of a call: what a naive version gets wrong. Every test compares with eager on the same inputs."""

import operator
import threading

import pytest
import torch
import torch.nn.functional as F

import litz
from litz import _C

TIERS = {"all": (True, True, True), "no_typed": (False, True, True), "host_only": (False, False, True)}


@pytest.fixture(autouse=True, params=TIERS)
def tiers(request):
    """Every test once per set of ways to call an op."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    _C.set_tiers(*TIERS[request.param])
    yield request.param
    _C.set_tiers(True, True, True)


def compiled(fn, **kwargs):
    return torch.compile(fn, backend="litz", options={"fallback": "error"}, fullgraph=True, **kwargs)


def check(fn, *args, **kwargs):
    want = fn(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
    got = compiled(fn, **kwargs)(*args)
    torch.testing.assert_close(got, want)
    return got


def test_a_library_call_under_autocast_is_not_cast_again():
    a, b = torch.randn(8, 16), torch.randn(16, 4)

    def fn(a, b):
        with torch.autocast("cpu", enabled=False):
            return a @ b

    outer = torch.autocast("cpu", dtype=torch.bfloat16)
    with outer, torch.no_grad():
        want = fn(a, b)
        got = compiled(fn)(a, b)
        assert torch.is_autocast_enabled("cpu")
    assert got.dtype == want.dtype == torch.float32
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


def test_autocast_inside_the_graph_casts_as_eager_does():
    a, b = torch.randn(8, 16), torch.randn(16, 4)

    def fn(a, b):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return a @ b

    with torch.no_grad():
        want, got = fn(a, b), compiled(fn)(a, b)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got, want)


def test_a_mutated_input_holds_the_new_values():
    def fn(x, y):
        x.add_(y)
        return x * 2

    x, y = torch.randn(5, 7), torch.randn(5, 7)
    want_x = x + y
    got = compiled(fn)(x, y)
    torch.testing.assert_close(x, want_x)
    torch.testing.assert_close(got, want_x * 2)


def test_a_mutated_view_changes_its_base():
    base = torch.arange(12.0)

    def fn(v):
        v.mul_(3)
        return v.sum()

    want = base.clone()
    want[2:8].mul_(3)
    compiled(fn)(base[2:8])
    assert torch.equal(base, want)


def test_an_output_that_is_an_input_is_that_object():
    def fn(x, y):
        x.add_(1)
        return x, y, x + y

    x, y = torch.zeros(3), torch.ones(3)
    a, b, c = compiled(fn)(x, y)
    assert a is x and b is y
    assert torch.equal(c, torch.full((3,), 2.0))


def test_an_output_that_is_a_view_shares_the_storage():
    def fn(x):
        return x.t(), x[1:]

    x = torch.randn(4, 6)
    t, s = compiled(fn)(x)
    assert t.data_ptr() == x.data_ptr() and t.stride() == x.t().stride()
    x.fill_(5)
    assert (s == 5).all() and (t == 5).all()


def test_two_outputs_with_one_storage_share_it():
    def fn(x):
        y = x + 1
        return y, y.view(-1)

    y, flat = compiled(fn)(torch.randn(3, 4))
    y.zero_()
    assert (flat == 0).all()


@pytest.mark.parametrize("number", [2, 2.5, True])
def test_a_scalar_argument_keeps_its_kind(number):
    check(lambda x: torch.add(x, number, alpha=3) if number is not True else torch.eq(x, number), torch.arange(6))
    check(lambda x: torch.special.xlog1py(x, number), torch.rand(4))


def test_an_op_that_raises_shows_eagers_exception():
    def fn(x):
        return torch.linalg.cholesky(x)

    x = -torch.eye(3)
    with pytest.raises(torch.linalg.LinAlgError) as want:
        fn(x)
    with pytest.raises(torch.linalg.LinAlgError) as got:
        compiled(fn)(x)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]
    assert torch.equal(compiled(fn)(torch.eye(3)), torch.eye(3))  # and the program still works


def test_an_index_out_of_range_is_an_index_error():
    def fn(x, i):
        return x[i]

    x = torch.randn(4)
    f = compiled(fn)
    assert torch.equal(f(x, torch.tensor([1, -1])), x[[1, -1]])
    with pytest.raises(IndexError):
        f(x, torch.tensor([1, 4]))


def test_an_index_is_checked_once_though_many_elements_share_it():
    def fn(cache, positions):
        x = cache[positions]
        y = x[0].clone()
        y[..., 1:60:3] = x[1, ..., 1:60:3]
        return y

    check(fn, torch.randn(200, 64), torch.randint(0, 200, (3, 11)))


def test_gradient_mode_does_not_reach_the_calls():
    weight = torch.nn.Parameter(torch.randn(4, 4))

    def fn(x):
        with torch.no_grad():
            return torch.linalg.solve(weight, x).exp()

    x = torch.randn(4, 2)
    assert torch.is_grad_enabled()
    got = compiled(fn)(x)
    assert torch.is_grad_enabled()
    assert not got.requires_grad and got.grad_fn is None
    torch.testing.assert_close(got, fn(x))


def test_inference_mode_gives_inference_tensors():
    with torch.inference_mode():
        x = torch.randn(3)
        assert compiled(lambda x: x + 1)(x).is_inference()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_tensors_without_elements(shape):
    check(lambda x: (x + 1, x.sum(), torch.cat([x, x])), torch.randn(shape))


def test_inputs_that_are_not_contiguous():
    x = torch.randn(8, 6)
    check(lambda a, b, c, d: (a * 2 + b, c + d.sum(0)), x.t(), torch.randn(6, 1).expand(6, 8), x[1::2, ::3], torch.randn(2, 3, 4).permute(1, 2, 0))


def test_conjugate_and_negative_views():
    z = torch.randn(4, dtype=torch.complex64)
    f = compiled(lambda a: a * 2)
    torch.testing.assert_close(f(z.conj()), z.conj() * 2)
    torch.testing.assert_close(f(z), z * 2)
    g = compiled(lambda a: a + 1)
    torch.testing.assert_close(g(z.conj().imag), z.conj().imag + 1)
    torch.testing.assert_close(g(z.imag), z.imag + 1)


def test_conjugate_views_made_inside():
    z = torch.randn(4, 3, dtype=torch.complex64)
    check(lambda z: (z.conj().imag + 1, z.mH @ z, torch.view_as_real(z.conj().resolve_conj())), z)


def test_complex_numbers_as_arguments():
    z = torch.randn(3, dtype=torch.complex64, requires_grad=True)

    def fn(z):
        return (z * (0.5 - 2j)).abs().sum()

    torch.testing.assert_close(torch.autograd.grad(compiled(fn)(z), z), torch.autograd.grad(fn(z), z))
    check(lambda x: x + 2j, torch.randn(3))


def test_upsampling_keeps_eagers_sizes_and_checks():
    x = torch.randn(1, 2, 3, 5)
    check(lambda x: F.interpolate(x, size=(3, 5)), x)
    check(lambda x: F.interpolate(x, scale_factor=(1.5, 2.0)), x)
    check(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x)
    with pytest.raises(NotImplementedError):
        compiled(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"))(x.int())


def test_a_subclass_goes_through_its_own_dispatch():
    from torch.testing._internal.two_tensor import TwoTensor

    x = TwoTensor(torch.randn(3), torch.randn(3))
    got = torch.compile(lambda t: t.sin() + 1, backend="litz")(x)
    assert type(got) is TwoTensor
    torch.testing.assert_close(got.a, x.a.sin() + 1)
    torch.testing.assert_close(got.b, x.b.sin() + 1)


def test_several_threads_call_at_once():
    f = compiled(lambda x, w: (x @ w).relu() + x.sum(1, keepdim=True))
    w = torch.randn(16, 8)
    inputs = [torch.randn(8, 16) for _ in range(8)]
    with torch.no_grad():
        want = [torch.relu(x @ w) + x.sum(1, keepdim=True) for x in inputs]
        f(inputs[0], w)
        failures = []

        def work(k):
            with torch.no_grad():
                for _ in range(50):
                    try:
                        torch.testing.assert_close(f(inputs[k], w), want[k])
                    except BaseException as failure:  # noqa: BLE001
                        failures.append(failure)
                        return

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    assert not failures, failures[0]


def test_the_number_of_threads_may_change_after_compiling():
    x = torch.randn(300, 1000)

    def fn(x):
        return x.exp().sum(1), x * 2, x.softmax(-1)

    f = compiled(fn)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 4, 1):
            torch.set_num_threads(threads)
            torch.testing.assert_close(f(x), fn(x))
    finally:
        torch.set_num_threads(before)


def test_one_compile_serves_every_size():
    def fn(x, y):
        return torch.cat([x * 2, y])[:-1].view(-1, 3).sum(0), x.shape[0] * 2

    f = compiled(fn, dynamic=True)
    graphs = None
    for n in (4, 7, 13, 31, 4):
        x, y = torch.randn(n, 3), torch.randn(2 * n, 3)
        got, want = f(x, y), fn(x, y)
        torch.testing.assert_close(got[0], want[0])
        assert got[1] == want[1]
        graphs = graphs or litz.counters["graphs"]
    assert litz.counters["graphs"] == graphs


def test_sizes_that_only_the_run_knows():
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    try:

        def fn(x):
            i = x.nonzero()
            return i * 2, i.shape[0] + 1

        f = compiled(fn)
        for x in (torch.tensor([0.0, 1, 2, 0]), torch.zeros(4), torch.ones(4)):
            got, want = f(x), fn(x)
            torch.testing.assert_close(got[0], want[0])
            assert got[1] == want[1]
    finally:
        torch._dynamo.config.capture_dynamic_output_shape_ops = False


def test_numbers_read_from_tensors():
    torch._dynamo.config.capture_scalar_outputs = True
    try:

        def fn(x, n):
            k = n.item()
            return x * k, torch.full((3,), k)

        f = compiled(fn)
        for k in (3, 5, -2):
            torch.testing.assert_close(f(torch.ones(2), torch.tensor(k)), fn(torch.ones(2), torch.tensor(k)))
    finally:
        torch._dynamo.config.capture_scalar_outputs = False


def test_a_number_outside_of_the_range_that_was_assumed_is_refused():
    """What follows from the range of a number is dropped from the graph's own assertions, so the range itself must be checked."""
    torch._dynamo.config.capture_scalar_outputs = True
    try:

        def fn(x, n):
            return x.narrow(0, (n * 1).sum().item(), 2) * 1

        x, f = torch.randn(5, 3), compiled(fn)
        for k in (1, 0, 3, -2, -5):
            torch.testing.assert_close(f(x, torch.tensor([k])), fn(x, torch.tensor([k])))
        for k in (4, 6, -6, 2**40):
            with pytest.raises((RuntimeError, IndexError)):
                fn(x, torch.tensor([k]))
            with pytest.raises(RuntimeError, match=r"Runtime assertion failed|the number u\d is -?\d+, expected at (least -5|most 5)"):
                f(x, torch.tensor([k]))
    finally:
        torch._dynamo.config.capture_scalar_outputs = False


def test_floats_computed_from_sizes():
    f = compiled(lambda x: x * (x.shape[0] / 3) + x.shape[0] ** 0.5, dynamic=True)
    for n in (4, 9):
        x = torch.randn(n)
        torch.testing.assert_close(f(x), x * (n / 3) + n**0.5)


def test_random_ops_follow_the_seed():
    def fn(x):
        return F.dropout(x, 0.5), torch.rand(4), torch.randn_like(x), torch.randint(0, 10, (5,))

    x = torch.ones(100)
    torch.manual_seed(5)
    want = fn(x)
    f = compiled(fn)
    f(x)
    torch.manual_seed(5)
    torch.testing.assert_close(f(x), want)


def test_constants_of_the_graph():
    table = torch.tensor([3.0, 1.0, 2.0])
    check(lambda x: x + torch.tensor([1.0, 2.0, 3.0]) + table, torch.zeros(3))


def test_higher_order_ops():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    f = compiled(fn)
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(f(x), fn(x))


def test_custom_ops():
    with torch.library._scoped_library("litz_test", "FRAGMENT") as library:
        library.define("twice_and_add(Tensor x, Tensor? y, str mode, float[] w) -> (Tensor, Tensor)")

        def twice(x, y, mode, w):
            assert mode == "plain"
            return x * 2 + (0 if y is None else y), x * w[1]

        library.impl("twice_and_add", twice, "CompositeExplicitAutograd")
        library.impl("twice_and_add", lambda x, y, mode, w: (torch.empty_like(x), torch.empty_like(x)), "Meta")
        op = torch.ops.litz_test.twice_and_add
        check(lambda x: op(x, None, "plain", [1.0, 4.0]), torch.randn(3))
        check(lambda x: op(x, x + 1, "plain", [1.0, 4.0]), torch.randn(3))


def test_none_for_a_tensor_is_an_undefined_tensor():
    """torch takes it whatever the signature says; attention's backward op is called so."""
    with torch.library._scoped_library("litz_test", "FRAGMENT") as library:
        library.define("plus_if_given(Tensor x, Tensor y) -> Tensor")
        library.impl("plus_if_given", lambda x, y: x * 2 if y is None else x * 2 + y, "CompositeExplicitAutograd")
        library.impl("plus_if_given", lambda x, y: torch.empty_like(x), "Meta")
        op = torch.ops.litz_test.plus_if_given
        check(lambda x: op(x, None) + 1, torch.randn(3))
        check(lambda x: op(x, x + 1) + 1, torch.randn(3))


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, False), (True, True, False), (True, True, True)])
def test_results_that_nobody_asked_for_are_none(wanted, capfd):
    def fn(gradient, x, weight):
        return torch.ops.aten.convolution_backward(gradient, x, weight, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, wanted)

    with torch.no_grad():
        got = check(fn, torch.randn(2, 4, 6, 6), torch.randn(2, 3, 6, 6), torch.randn(4, 3, 3, 3))
    assert [x is not None for x in got] == list(wanted)
    assert "undefined" not in capfd.readouterr().err


def test_dynamo_looks_at_no_frame_of_a_compiled_graph():
    """A compiled graph reaches Dynamo without `torch._dynamo.disable` around it: what that does, the call itself must do."""
    frames = torch._dynamo.utils.counters["frames"]
    set_callback = torch._C._dynamo.eval_frame.set_eval_frame
    given = []

    def keep(gm, example_inputs):
        given.append(litz.backend_entry(gm, example_inputs, options={"fallback": "error"}))
        return given[0]

    with torch.library._scoped_library("litz_test", "FRAGMENT") as library, torch.no_grad():
        library.define("checked(Tensor x) -> Tensor")

        def helper(x):
            if x[0] < 0:
                raise ValueError("negative")
            return x + 1

        library.impl("checked", lambda x: helper(x), "CompositeExplicitAutograd")
        library.impl("checked", lambda x: torch.empty_like(x), "Meta")
        compiled = torch.compile(lambda x: torch.ops.litz_test.checked(x * 2), backend=keep)
        before = frames["total"]
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
            assert frames["total"] == before + 1
        with pytest.raises(ValueError, match="negative"):
            compiled(-torch.ones(3))
        assert frames["total"] == before + 1
        for callback in (False, None):  # what Dynamo has set is there again, also after an error
            for x in (torch.ones(3), -torch.ones(3)):
                set_callback(callback)
                try:
                    given[0](x)
                except ValueError:
                    assert x[0] < 0
                finally:
                    assert set_callback(None) is callback


def test_gradients_are_eagers():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(12, 16), torch.nn.Linear(16, 4)
            self.norm = torch.nn.LayerNorm(16)

        def forward(self, x):
            return self.second(F.gelu(self.norm(self.first(x)))).softmax(-1)

    model = Model()
    x = torch.randn(6, 12, requires_grad=True)
    want = torch.autograd.grad((model(x) ** 2).sum(), [x, *model.parameters()])
    got = torch.autograd.grad((compiled(model)(x) ** 2).sum(), [x, *model.parameters()])
    torch.testing.assert_close(got, want)


def test_gradients_through_views_mutation_and_unused_inputs():
    def fn(x, y, unused):
        z = x * 2
        z[1:].mul_(y)
        return z.t(), x

    args = [torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True), torch.randn(2, requires_grad=True)]

    def gradients(f):
        a, b = f(*args)
        return torch.autograd.grad((a**2).sum() + b.sum(), args, allow_unused=True)

    torch.testing.assert_close(gradients(compiled(fn)), gradients(fn))


def test_a_graph_may_be_kept_for_a_second_backward_call_after_calls_that_did_not():
    layer = torch.nn.Linear(5, 5)
    f = compiled(lambda x: (layer(x).tanh() * layer(x).exp()).mean())
    x = torch.randn(3, 5, requires_grad=True)
    f(x).backward()
    once = x.grad.clone()
    x.grad = None
    loss = f(x)
    loss.backward(retain_graph=True)
    loss.backward()
    torch.testing.assert_close(x.grad, 2 * once)


def test_training_with_dynamic_sizes():
    layer = torch.nn.Linear(5, 5)
    f = compiled(lambda x: layer(x).tanh().mean(), dynamic=True)
    for n in (3, 8, 5):
        x = torch.randn(n, 5, requires_grad=True)
        want = torch.autograd.grad(layer(x).tanh().mean(), [x, *layer.parameters()])
        torch.testing.assert_close(torch.autograd.grad(f(x), [x, *layer.parameters()]), want)


def test_more_arguments_and_results_than_a_small_call_holds():
    xs = [torch.full((2,), float(i)) for i in range(120)]
    got = compiled(lambda *xs: [x + 1 for x in xs])(*xs)
    assert all(torch.equal(g, x + 1) for g, x in zip(got, xs, strict=True))


def test_a_call_that_gives_a_dictionary_is_made_through_python():
    """As the kernels that users write in Triton appear in a graph."""

    def both(x, names):
        return {names[0]: x + 1, names[1]: x * 2}

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    results = graph.call_function(both, (x, ["sum", "product"]))
    graph.output((graph.call_function(operator.getitem, (results, "product")), graph.call_function(operator.getitem, (results, "sum"))))
    with torch._subclasses.FakeTensorMode():
        value = torch.empty(3)
    for node in graph.nodes:
        node.meta["val"] = {"sum": value, "product": value} if node is results else value
    run = litz.backend._Compile({"fallback": "error"}).compile_graph(torch.fx.GraphModule({}, graph), "inference")
    given = torch.tensor([1.0, 2.0, 4.0])
    product, total = run([given])
    assert product.tolist() == [2, 4, 8] and total.tolist() == [2, 3, 5]
