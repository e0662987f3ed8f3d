"""Random graphs before and after the graph passes: outputs, written inputs, draws and what shares storage must agree. Each graph is
made by running eager, so its metadata is eager's; both texts run through torch.ops node by node."""

import random

import pytest
import torch
from graph_text import GraphText, argument_text, meta_text, op_name
from test_decompositions import tool

aten = torch.ops.aten
PASSES = ["functionalize_writes", "decompose", "remove_no_ops", "clean_views", "merge_common_subexpressions", "eliminate_dead_code"]


class RandomGraph:
    """Calls on tensors of 24 elements, recorded as text while they run."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.inputs = [torch.randn(4, 6), torch.randn(4, 6), torch.randn(2, 3, 4)]
        self.initial = [t.clone() for t in self.inputs]
        self.values = {f"%x{i}": t for i, t in enumerate(self.inputs)}
        self.lines, self.schemas = [], set()
        self.steps = [self.pointwise, self.pointwise, self.repeat, self.view, self.view, self.copy, self.cast, self.write, self.activation,
                      self.reduction, self.compute_in_place]

    def pick(self, condition=lambda t: True):
        names = [n for n, t in self.values.items() if condition(t)]
        return self.random.choice(names)

    def call(self, op, *args, **kwargs):
        tensors = [self.values[a] if isinstance(a, str) and a.startswith("%") else a for a in args]
        result = op(*tensors, **kwargs)
        name = f"%v{len(self.lines)}"
        text = [a if isinstance(a, str) and a.startswith("%") else argument_text(a, None) for a in args]
        text += [f"{k}={argument_text(v, None)}" for k, v in kwargs.items()]
        self.lines.append((name, op, args, kwargs, f"{name} = {op_name(op)}({', '.join(text)}) -> {meta_text(result)}"))
        self.schemas.add(str(op._schema))
        self.values[name] = result
        return name

    def pointwise(self):
        a = self.pick()
        shape = self.values[a].shape
        b = self.pick(lambda t: t.shape == shape)
        self.call(self.random.choice([aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor]), a, b)

    def repeat(self):
        if self.lines:
            name, op, args, kwargs, _ = self.random.choice(self.lines)
            if not op._schema.is_mutable:
                self.call(op, *args, **kwargs)

    def view(self):
        a = self.pick(lambda t: t.dim() >= 2)
        t = self.values[a]
        choice = self.random.randrange(6)
        if choice == 0:
            order = list(range(t.dim()))
            self.random.shuffle(order)
            self.call(aten.permute.default, a, order)
        elif choice == 1:
            self.call(aten.transpose.int, a, 0, -1)
        elif choice == 2 and t.is_contiguous() and t.numel() == 24:
            self.call(aten.view.default, a, self.random.choice([[24], [4, 6], [2, 3, 4], [6, -1]]))
        elif choice == 3:
            self.call(aten.alias.default, a)
        elif choice == 4:
            self.call(aten.slice.Tensor, a, 0, 0, self.random.choice([1, 9223372036854775807]))
        else:
            self.call(aten.unsqueeze.default, a, 0)

    def copy(self):
        self.call(aten.clone.default, self.pick())

    def cast(self):
        a = self.pick()
        self.call(aten._to_copy.default, a, dtype=self.random.choice([torch.bfloat16, torch.float32, torch.float64]))

    def write(self):
        name = self.random.choice(["%x0", "%x1"])
        self.call(aten.copy_.default, name, self.pick(lambda t: t.shape == (4, 6) and t is not self.values[name]))

    def compute_in_place(self):
        name = self.pick(lambda t: t.is_floating_point() and t.shape == (4, 6) and t.dtype == torch.float32)
        op = self.random.choice([aten.add_.Tensor, aten.mul_.Scalar, aten.relu_.default, aten.silu_.default, aten.gt_.Scalar, aten.fill_.Scalar, aten.zero_.default])
        if op is aten.add_.Tensor:
            self.call(op, name, self.pick(lambda t: t.shape == (4, 6)), alpha=2)
        else:
            self.call(op, name, *([0.5] if op._overloadname == "Scalar" else []))

    def activation(self):
        self.call(self.random.choice([aten.silu.default, aten.relu.default, aten.sigmoid.default]), self.pick())

    def reduction(self):
        self.call(aten.mean.dim, self.pick(lambda t: t.dim() >= 1), [0], self.random.random() < 0.5)

    def make(self):
        for _ in range(self.random.randrange(4, 25)):
            self.random.choice(self.steps)()
        outputs = [self.pick() for _ in range(self.random.randrange(1, 5))]
        text = "graph random\n" + "".join(f"schema {s}\n" for s in sorted(self.schemas))
        text += "".join(f"input %x{i} : {meta_text(t)}\n" for i, t in enumerate(self.initial))
        return text + "".join(line[-1] + "\n" for line in self.lines) + "return " + ", ".join(outputs) + "\n"


def storage_classes(tensors):
    keys = [t.untyped_storage().data_ptr() for t in tensors]
    return [keys.index(k) for k in keys]


def observed(text, initial):
    """Outputs, inputs afterwards, and which of them share storage."""
    inputs = [t.clone() for t in initial]
    torch.manual_seed(7)
    results = GraphText(text).run(inputs, check=False)
    return results, inputs, storage_classes(inputs + results)


@pytest.mark.parametrize("block", range(4))
def test_passes_keep_what_a_graph_computes_writes_and_shares(block):
    graphs = [RandomGraph(block * 1000 + i) for i in range(40)]
    texts = [g.make() for g in graphs]
    for passes in [[p] for p in PASSES] + [PASSES]:
        after = tool(*passes, text="".join(texts)).split("graph random")[1:]
        assert len(after) == len(texts)
        for graph, before, optimised in zip(graphs, texts, after):
            optimised = "graph random" + optimised
            results, inputs, shared = observed(before, graph.initial)
            new_results, new_inputs, new_shared = observed(optimised, graph.initial)
            context = f"{passes}\n{before}\n{optimised}"
            for a, b in zip(inputs + results, new_inputs + new_results, strict=True):
                exact = "decompose" not in passes
                torch.testing.assert_close(b, a, equal_nan=True, msg=lambda m: f"{m}\n{context}",
                                           **(dict(rtol=0, atol=0) if exact else dict(rtol=2e-2, atol=1e-3)))
            assert shared == new_shared, context
