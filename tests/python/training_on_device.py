"""Training under mode="reduce-overhead" on a GPU, against eager and against Litz that records nothing.

    python tests/python/training_on_device.py [--times] [NAME...]

First the loops of test_recorded_training.py, then models for 20 steps each: plainly, with gradients that add up over two batches, with two
forward calls before a backward call, with a graph that is kept for a second backward call. A line for each; the last line counts, and the
exit status is 1 if anything differs. --times adds times of a step of two models beside TorchInductor's, in milliseconds. Without a GPU the
recorder of the tests stands for one.
"""

import copy
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]
from benchmarks.bench_cuda import take_turns  # noqa: E402 isort:skip it sets what TorchInductor reads when torch is imported

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from device_checks import run_checks  # noqa: E402
from host_recorder import HostRecorder, everything  # noqa: E402
from litz import backend  # noqa: E402
from test_recorded_training import LOOPS, Model, agree, losses_added_up, run, square  # noqa: E402
from torch import nn  # noqa: E402

STEPS = 20
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    backend._recorder = HostRecorder(everything)


def litz(f):
    return torch.compile(f, backend=backend.backend_entry, options={"fallback": "error"})


def litz_recorded(f):
    return torch.compile(f, backend=backend.backend_entry, mode="reduce-overhead")


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.first_norm, self.second_norm = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.second_norm(self.second(F.relu(self.first_norm(self.first(x))))))


class ResNet(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(depth)])
        self.head = nn.Linear(width, 10)

    def forward(self, x, target):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 2)
        return F.cross_entropy(self.head(self.blocks(x).mean((2, 3))), target)


class Block(nn.Module):
    def __init__(self, width, heads, dropout, causal):
        super().__init__()
        self.heads, self.dropout, self.causal = heads, dropout, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).flatten(2)
        x = x + F.dropout(self.out(y), self.dropout, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), self.dropout, self.training)


class Transformer(nn.Module):
    def __init__(self, dropout, width=64, depth=2):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width, 4, dropout, False) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x, target):
        return F.mse_loss(self.head(self.blocks(x)).squeeze(-1), target)


class Gpt(nn.Module):
    """Output weights are the embedding's."""

    def __init__(self, width=64, depth=2, vocabulary=256, length=64):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, 4, 0.0, True) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, target):
        x = self.embedding(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), target.flatten())


def images(batch=8, size=32):
    return torch.randn(batch, 3, size, size, device=DEVICE), torch.randint(0, 10, (batch,), device=DEVICE)


def vectors(batch=4, length=32, width=64):
    x = torch.randn(batch, length, width, device=DEVICE)
    return x, x.mean(-1)


def tokens(batch=4, length=64, vocabulary=256):
    x = torch.randint(0, vocabulary, (batch, length + 1), device=DEVICE)
    return x[:, :-1], x[:, 1:]


sgd = lambda parameters: torch.optim.SGD(parameters, 0.01, momentum=0.9)
adamw = lambda parameters: torch.optim.AdamW(parameters, 1e-3, eps=1e-5)
# name -> module, batches, optimizer, whether eager draws the same numbers
MODELS = {
    "resnet": (ResNet, images, sgd, True),
    "transformer": (lambda: Transformer(0.0), vectors, adamw, True),
    "transformer_dropout": (lambda: Transformer(0.1), vectors, adamw, False),
    "gpt_tied": (Gpt, tokens, adamw, True),
}


def plainly(f, optimizer, batch):
    loss = f(*batch())
    loss.backward()
    return loss.detach()


def added_up(f, optimizer, batch):
    return (plainly(f, optimizer, batch).clone() + plainly(f, optimizer, batch)) / 2  # the next call overwrites the loss


def two_before_backward(f, optimizer, batch):
    loss = f(*batch()) + f(*batch())
    loss.backward()
    return loss.detach()


def kept(f, optimizer, batch):
    loss = f(*batch())
    loss.backward(retain_graph=True)
    loss.backward()
    return loss.detach()


WAYS = {way.__name__: way for way in (plainly, added_up, two_before_backward, kept)}


def train(f, module, state, make_optimizer, make_batch, way):
    """Losses and parameters after 20 steps from `state`; the parameters stay where they are."""
    module.load_state_dict(state)
    module.zero_grad()
    optimizer = make_optimizer(module.parameters())
    torch.manual_seed(1)
    batches = [make_batch() for _ in range(4)]
    torch.manual_seed(2)
    losses, calls = [], 0

    def batch():
        nonlocal calls
        calls += 1
        return batches[calls % len(batches)]

    for _ in range(STEPS):
        losses.append(way(f, optimizer, batch).clone())
        optimizer.step()
        optimizer.zero_grad()
    return torch.stack(losses), torch.cat([p.detach().flatten().clone() for p in module.parameters()])


def distance(a, b):
    return ((a - b).norm() / b.norm()).item()


def what_was_recorded(reports):
    recorded = [r for r in reports if "recordings" in r]
    refused = [r["not_recorded"] for r in reports if "not_recorded" in r] + [r["no_further_recordings"] for r in reports if "no_further_recordings" in r]
    if refused or not any(r["recordings"] for r in recorded):
        raise AssertionError(f"not recorded: {refused}")
    return f"recordings {[r['recordings'] for r in recorded]}, as compiled {[sum(r['unrecorded_calls'].values()) for r in recorded]}"


def compare_model(name):
    """Differences of losses and parameters; recorded training is compared with the same kernels unrecorded, and both with eager."""
    make, make_batch, make_optimizer, draws_as_eager = MODELS[name]
    torch._dynamo.reset()
    torch.manual_seed(0)
    module = make().to(DEVICE)
    state = copy.deepcopy(module.state_dict())
    unrecorded = litz(module)
    before = {way: train(unrecorded, module, state, make_optimizer, make_batch, WAYS[way]) for way in WAYS}
    torch._dynamo.reset()
    backend._reports.clear()
    recorded = litz_recorded(module)
    lines = []
    for way, run_way in WAYS.items():
        losses, parameters = train(recorded, module, state, make_optimizer, make_batch, run_way)
        differences = [distance(losses, before[way][0]), distance(parameters, before[way][1])]
        if draws_as_eager:
            eager = train(module, module, state, make_optimizer, make_batch, run_way)
            differences += [distance(losses, eager[0]), distance(parameters, eager[1])]
        if not (losses[-4:].mean() < losses[:4].mean() and max(differences) < 5e-3):
            raise AssertionError(f"{way}: losses {losses.tolist()}, differences {differences}")
        lines.append(f"{way} {max(differences):.1e}")
    return f"{', '.join(lines)}; {what_was_recorded(backend.reports())}"


def compare_loop(name):
    expected = run(LOOPS[name], lambda f: f, 8, device=DEVICE)
    torch._dynamo.reset()
    backend._reports.clear()
    got = run(LOOPS[name], litz_recorded, 8, device=DEVICE)
    tolerance = 3e-2 if name == "scaled" else 1e-4
    agree(got[0], expected[0], tolerance)
    agree(got[1], expected[1], tolerance)
    return what_was_recorded(backend.reports())


def masks():
    """Dropout in recorded graphs: another mask at every call, backward with that of its forward, the numbers of unrecorded calls."""
    torch._dynamo.reset()
    backend._reports.clear()
    f = litz_recorded(lambda x: F.dropout(x, 0.25))
    ones = torch.ones(1 << 16, device=DEVICE)
    seen = []
    for _ in range(8):
        x = ones.clone().requires_grad_()
        y = f(x)
        y.sum().backward()
        assert torch.equal(x.grad, y.detach())
        seen.append(y.detach().clone())
    kept = torch.stack(seen) > 0
    assert (kept.float().mean(1) - 0.75).abs().max() < 0.01, kept.float().mean(1)
    both = [(kept[i] & kept[j]).float().mean().item() for i in range(8) for j in range(i)]
    assert all(abs(share - 0.75**2) < 0.01 for share in both), both
    torch._dynamo.reset()
    results = [run(losses_added_up, compile_it, 8, module_of=lambda: Model(0.3), device=DEVICE) for compile_it in (litz, litz_recorded)]
    agree(results[1][:2], results[0][:2], 1e-4)
    return what_was_recorded(backend.reports()[:2])


def memory():
    """Temporaries of graphs that take turns overwrite nothing that is needed: graphs of several sizes, forward and backward interleaved."""
    torch._dynamo.reset()
    layers = [nn.Linear(n, n).to(DEVICE) for n in (256, 1024, 512)]
    functions = [lambda x, layer=layer: torch.softmax(layer(torch.tanh(layer(x))), -1) for layer in layers]
    compiled = [litz_recorded(f) for f in functions]
    torch.manual_seed(3)
    for turn in range(30):
        inputs = [torch.randn(64 << turn % 2, layer.in_features, device=DEVICE) for layer in layers]
        order = torch.randperm(3).tolist()
        gradients = []
        for call in (functions, compiled):
            for layer in layers:
                layer.zero_grad()
            losses = {i: square(call[i](inputs[i]) * 100) for i in order}
            for i in sorted(order) if turn % 3 else reversed(order):
                losses[i].backward()
            gradients.append([p.grad for layer in layers for p in layer.parameters()])
        agree(gradients[1], gradients[0], 1e-4)
    return what_was_recorded(backend.reports())


def times(name):
    """Milliseconds of a step with AdamW in one launch of all parameters; all take turns in one process."""
    make, make_batch, _, _ = MODELS[name]
    torch.manual_seed(0)
    first, batch = make().to(DEVICE), make_batch()
    candidates = {}
    torch._dynamo.reset()  # it keeps the code of several backends beside each other
    for label, compile_it in {
        "eager": lambda f: f, "litz": litz, "litz_graphs": litz_recorded, "inductor": torch.compile,
        "inductor_graphs": lambda f: torch.compile(f, mode="reduce-overhead"),
    }.items():  # fmt: skip
        module = copy.deepcopy(first)
        optimizer = torch.optim.AdamW(module.parameters(), 1e-4, fused=True)
        f = compile_it(module)

        def step(f=f, optimizer=optimizer):
            f(*batch).backward()
            optimizer.step()
            optimizer.zero_grad()

        for _ in range(5):
            step()
        candidates[label] = step
    return ", ".join(f"{label} {ms:.3f}" for label, ms in take_turns(candidates, rounds=30).items())


CHECKS = {
    **{name: lambda name=name: compare_loop(name) for name in LOOPS},
    **{name: lambda name=name: compare_model(name) for name in MODELS},
    "masks": masks,
    "memory": memory,
}


def main(arguments):
    with_times, names = "--times" in arguments, [a for a in arguments if a != "--times"]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    chosen = {name: CHECKS[name] for name in names or CHECKS}
    if with_times:
        chosen |= {f"times of {name}": lambda name=name: times(name) for name in ("resnet", "gpt_tied")}
    return run_checks(chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
