"""Decompositions with symbolic sizes: a call is written with n = 13 and m = 17 as symbols, decomposed once, and run with other sizes."""

import re

import pytest
import torch
from graph_text import GraphText, call_text, op_name
from test_decompositions import tool

aten = torch.ops.aten
N, M = 13, 17

# Every number of the text that stands for sizes. No sample has these numbers for another reason.
SYMBOLIC = {str(N * M): "s0*s1", str(3 * N * M): "s0*s1*3"}
for k in range(1, 9):
    SYMBOLIC[str(N * k)], SYMBOLIC[str(M * k)] = f"s0*{k}", f"s1*{k}"
for k in range(1, 4):
    SYMBOLIC[str(N + k)], SYMBOLIC[str(M + k)] = f"s0 + {k}", f"s1 + {k}"
SYMBOLIC |= {str(N): "s0", str(M): "s1"}


def randn(*shape):
    return torch.randn(shape)


def samples(n, m):
    x, w = randn(n, 8), randn(8)
    image, channels = randn(n, 3, 4, 4), randn(3)
    large = randn(2, 3, n, m)
    logs, target = torch.log_softmax(randn(n, 5), 1), torch.randint(0, 5, (n,))
    _, mean, rstd = aten.native_layer_norm(x, [8], w, w, 1e-5)
    _, save_mean, save_rstd = aten.native_batch_norm(image, channels, channels, None, None, True, 0.1, 1e-5)
    pooled, indices = aten.max_pool2d_with_indices(image, [2, 2], [2, 2], [0, 0], [1, 1], False)
    total = aten.nll_loss_forward(logs, target, None, 1, -100)[1]
    cpu = dict(device=torch.device("cpu"))
    return [
        (aten.silu.default, (x,), {}),
        (aten.gelu.default, (large,), {}),
        (aten._softmax.default, (large, -1, False), {}),
        (aten._softmax.default, (large, 2, False), {}),
        (aten._log_softmax.default, (x, 0, False), {}),
        (aten.logsumexp.default, (x, [0]), {}),
        (aten.mean.dim, (large, [2, 3]), {}),
        (aten.mean.default, (x,), {}),
        (aten.var.correction, (large, [2]), dict(correction=0)),
        (aten.std.correction, (x, [0]), {}),
        (aten.linalg_vector_norm.default, (x, 2, [0]), {}),
        (aten.argmax.default, (x,), {}),
        (aten.native_layer_norm.default, (x, [8], w, w, 1e-5), {}),
        (aten.native_layer_norm_backward.default, (randn(n, 8), x, [8], mean, rstd, w, w, [True, True, True]), {}),
        (aten.native_layer_norm.default, (randn(3, n), [n], None, None, 1e-5), {}),
        (aten._fused_rms_norm.default, (randn(3, n), [n], randn(n), 1e-5), {}),
        (aten.native_group_norm.default, (randn(n, 3, 5, 5), channels, channels, n, 3, 25, 1, 1e-5), {}),
        (aten._native_batch_norm_legit_no_training.default, (image, channels, channels, channels, channels.abs() + 1, 0.1, 1e-5), {}),
        (aten._native_batch_norm_legit_functional.default, (image, channels, channels, channels, channels, True, 0.1, 1e-5), {}),
        (aten.native_batch_norm_backward.default,
         (randn(n, 3, 4, 4), image, channels, None, None, save_mean, save_rstd, True, 1e-5, [True, True, True]), {}),
        (aten.transpose.int, (large, 1, 2), {}),
        (aten.split.Tensor, (x, 3, 1), {}),
        (aten.stack.default, ([x, x], 0), {}),
        (aten.repeat.default, (x, [2, 1]), {}),
        (aten.repeat_interleave.self_int, (x, 3, 0), {}),
        (aten.index_select.default, (x, 0, torch.tensor([2, 0, 5])), {}),
        (aten.index_add.default, (x, 1, torch.tensor([1, 7]), randn(n, 2)), {}),
        (aten.tril.default, (randn(n, n), 1), {}),
        (aten.triu.default, (large, 0), {}),
        (aten.roll.default, (x, [3]), {}),
        (aten.reflection_pad2d.default, (large, [1, 2, 3, 0]), {}),
        (aten.replication_pad1d.default, (randn(2, 3, n), [2, 1]), {}),
        (aten.pixel_shuffle.default, (randn(n, 4, 3, 3), 2), {}),
        (aten.pixel_unshuffle.default, (randn(n, 1, 4, 4), 2), {}),
        (aten.diag_embed.default, (randn(2, n),), {}),
        (aten.upsample_nearest2d.vec, (randn(2, 3, n, n), [m, m], None), {}),
        (aten._upsample_nearest_exact2d.vec, (randn(2, 3, m, n), [n, m], None), {}),
        (aten.upsample_bilinear2d.vec, (randn(2, 3, n, n), [m, m], False, None), {}),
        (aten.upsample_bilinear2d.vec, (randn(2, 3, m, n), [n, m], True, None), {}),
        (aten.upsample_bicubic2d.vec, (randn(2, 3, n, n), [m, m], False, None), {}),
        (aten.upsample_nearest2d.vec, (randn(2, 3, n, n), None, [2.0, 3.0]), {}),
        (aten.upsample_nearest2d_backward.default, (randn(2, 3, m, m), [m, m], [2, 3, n, n], None, None), {}),
        (aten._adaptive_avg_pool2d.default, (large, [1, 1]), {}),
        (aten.max_pool2d_with_indices_backward.default, (pooled, image, [2, 2], [2, 2], [0, 0], [1, 1], False, indices), {}),
        (aten.avg_pool2d_backward.default, (randn(n, 3, 2, 2), image, [3, 3], [2, 2], [1, 1], False, False, None), {}),
        (aten.mse_loss.default, (x, x.flip(0)), {}),
        (aten.mse_loss_backward.default, (randn(), x, x.flip(0), 1), {}),
        (aten.nll_loss_forward.default, (logs, target, None, 1, -100), {}),
        (aten.nll_loss_backward.default, (randn(), logs, target, None, 1, -100, total), {}),
        (aten.embedding_dense_backward.default, (randn(n, 4), torch.randint(0, 7, (n,)), 7, -1, False), {}),
        (aten.slice_backward.default, (randn(n, 2), [n, 8], 1, 1, 3, 1), {}),
        (aten.select_backward.default, (randn(n), [n, 8], 1, 2), {}),
        (aten.zeros.default, ([n, m],), cpu),
        (aten.full_like.default, (x, 2), {}),
        (aten.arange.default, (n,), cpu),
        (aten.arange.default, (m,), dict(dtype=torch.float32, **cpu)),
        (aten.eye.m, (n, m), cpu),
        (aten.copy.default, (x, w), {}),
    ]


def symbolic(text):
    head, *lines = text.splitlines(keepends=True)

    def replaced(line):
        if line.startswith("schema"):
            return line
        return re.sub(r"(?<![%\w.])\d+(?![\w.])", lambda found: SYMBOLIC.get(found[0], found[0]), line)

    schemas = [line for line in lines if line.startswith("schema")]
    rest = [replaced(line) for line in lines if not line.startswith("schema")]
    symbols = ["symbol s0 in [4, inf] hint 13\n", "symbol s1 in [4, inf] hint 17\n", "input %n : size s0\n", "input %m : size s1\n"]
    return "".join([head, *schemas, *symbols, *rest])


def test_graphs_of_symbolic_sizes_serve_other_sizes():
    torch.manual_seed(0)
    texts = [symbolic(call_text(op, args, kwargs, op(*args, **kwargs))[0]) for op, args, kwargs in samples(N, M)]
    graphs = tool("decompose", "eliminate_dead_code", text="".join(texts)).split("graph call\n")[1:]
    assert len(graphs) == len(texts)
    failures = []
    for n, m in ((11, 19), (6, 4)):
        for (op, args, kwargs), text in zip(samples(n, m), graphs):
            expected = op(*args, **kwargs)
            _, inputs = call_text(op, args, kwargs, expected)
            try:
                graph = GraphText(text)
                assert " built" in text, "no decomposition took it"
                results = graph.run([n, m, *inputs])
                for e, r in zip([t for t in (expected if isinstance(expected, (list, tuple)) else [expected]) if t is not None], results,
                                strict=True):
                    torch.testing.assert_close(r, e, equal_nan=True)
            except Exception as e:
                failures.append(f"{op_name(op)} with n={n}, m={m}: {type(e).__name__}: {e}\n{text}")
    assert not failures, f"{[f.split(':')[0] for f in failures]}\n" + "\n\n".join(f[:2500] for f in failures[:4])


@pytest.mark.parametrize("text", ["f32[13, 26, 4]", "strides [221, 14, 1]"])
def test_sizes_become_symbols(text):
    assert not re.search(r"\b(13|26|221|14)\b", symbolic("graph g\n" + text + "\n").split("\n", 5)[5])
