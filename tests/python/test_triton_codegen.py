"""Triton sources of small programs: they run in Triton's interpreter on CPU tensors and give what eager gives, and they compile, with
no GPU present, for three NVIDIA architectures and one of AMD.

The graphs are captured from CPU tensors and moved to the GPU as text, so that nothing here needs a device.
"""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from litz import _C, export, options

HERE = os.path.dirname(os.path.abspath(__file__))
TARGETS = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"]


def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def batch_norm(x, mean, var, w, b):
    return F.relu(F.batch_norm(x, mean, var, w, b, training=False))


def rms_norm(x, w):
    return x.float().pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt().mul(x.float()).to(x.dtype) * w


def masked_softmax(x):
    mask = torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool, device=x.device).tril()
    return torch.softmax(x.masked_fill(~mask, float("-inf")), -1)


def batch_norm_of_planes(x, mean, var, w, b):
    return batch_norm(x.contiguous(memory_format=torch.channels_last), mean, var, w, b)


def biased_softmax(x, table, index):
    bias = table[index.view(-1)].view(9, 9, 3).permute(2, 0, 1).contiguous()
    return torch.softmax(x + bias, -1)


def norm_of_merged_patches(x, w, b):
    n, h, width, c = x.shape
    patches = x.reshape(n, h // 2, 2, width // 2, 2, c).permute(0, 1, 3, 4, 2, 5).flatten(3)
    return layer_norm(patches, w, b)


def mean_of_activated_planes(x):
    y = F.silu(x)
    return y, y.mean((2, 3))


def figures_of_long_rows(x):
    """What is computed in pieces and combined by the program that comes last."""
    return x.sum(-1), x.amin(-1), (x > 3).any(-1), x.mean(-1)


def sums_and_what_follows(x, y, running):
    """A chain of small kernels."""
    s = x.mean(-1)
    t = (y * s[:, None]).sum(0)
    return s, t.cumsum(0), running * 0.9 + s * 0.1, torch.softmax(t, 0)


def cumprod_and_sum(x):
    y = x.cumprod(1)
    return y, y.sum()


def in_planes_of_channels(x):
    return x.contiguous(memory_format=torch.channels_last)


def depthwise(x, w, b, **window):
    """A convolution of each channel by itself between a norm's scaling and an activation."""
    return F.hardswish(F.conv2d(x * 0.5 + b[:, None, None], w, b, groups=x.shape[1], **window) + 1)


def rotary(x, frequencies):
    angles = torch.arange(x.shape[2], device=x.device)[:, None] * frequencies
    angles = torch.cat([angles, angles], -1)
    half = x.shape[-1] // 2
    return x * angles.cos() + torch.cat([-x[..., half:], x[..., :half]], -1) * angles.sin()


def edge_rows(n):
    """Rows with -inf here and there, with nothing else, with inf, with NaN, and one that grows."""
    x = r(5, n)
    x[0, ::3] = -INF
    x[1] = -INF
    x[2, n // 2] = INF
    x[3, n - 2] = NAN
    x[4] = torch.linspace(-300, 300, n)
    return x


def scans_of_one_element(x):
    """What a reduction gives, along its dimension of one element, beside readers that walk whole rows."""
    s = x.sum(1, keepdim=True)
    return x - s, s.cumsum(1), s.cumprod(1), s.logcumsumexp(1), *s.cummax(1), *s.sort(dim=1)


def norms_of_one_element(x):
    s = x.amax(1, keepdim=True)
    return x + s, F.layer_norm(s, (1,)), s.argmax(1), s.var(1, correction=0), (s > 0).any(1), *s.max(1)


def scan_of_what_was_stored(x, y):
    z = x + y.sum(1, keepdim=True)
    return z, z.flip(1).cumsum(1)


def scatters_into_one_place(x, y, index):
    return x.index_put((index,), x[index] * 2, accumulate=True), y.index_put((index,), y[index], accumulate=True), x.sum(1)


def sums_scattered_beside_rows(x, index):
    s = x.sum(1)
    return torch.softmax(x, 1), x.new_ones(5).index_add(0, index, s), x.new_zeros(1).index_add(0, index * 0, s)


def sort_integers(x):
    return *x.sort(dim=-1, descending=True, stable=True), *(x > 0).sort(dim=-1, stable=True)


def ties(*shape):
    """Few different numbers, both zeros, infinities and NaN among them."""
    x = torch.randint(-6, 7, shape) * 0.5
    x[torch.rand(shape) < 0.05] = -0.0
    for edge in (INF, -INF, NAN):
        x[torch.rand(shape) < 0.02] = edge
    x[torch.rand(shape[:1]) < 0.3] = torch.randn(shape)[0]
    return x


def most_likely(x):
    """What nucleus sampling keeps of each row."""
    shares, places = torch.softmax(x, -1).sort(dim=-1, descending=True, stable=True)
    before = shares.cumsum(-1) - shares
    return shares.masked_fill(before > 0.9, 0.0), places


def huge_rows():
    return 8.5e37 + 1e36 * r(3, 64), torch.ones(64), SHIFT


SEED = -0x123456789ABCDEF  # what programs that draw one get
INF, NAN = float("inf"), float("nan")
SHIFT = torch.linspace(-1, 1, 64)
EDGES = torch.tensor([NAN, INF, -INF, 7.5, -7.5, 0.0, -0.0, 6.0], dtype=torch.float64)
ZEROS = (torch.tensor([-0.0, 0.0, -0.0, 0.0]), torch.tensor([0.0, -0.0, -0.0, 0.0]))


def r(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype) if dtype.is_floating_point else torch.randint(-50, 50, shape, dtype=dtype)


BF16 = torch.bfloat16
# name -> function, inputs
PROGRAMS = {
    "pointwise": (lambda x, y: F.silu(x) * y + 1.5, lambda: (r(7, 33), r(7, 33))),
    "pointwise_broadcast": (lambda x, y: x * y - y.abs(), lambda: (r(5, 1, 19), r(4, 19))),
    "pointwise_bf16": (lambda x, y: (x * y + y).relu(), lambda: (r(6, 40, dtype=BF16), r(6, 40, dtype=BF16))),
    "integers": (lambda x, y: (x // 3 + x % 7) ^ y, lambda: (r(300, dtype=torch.int64), r(300, dtype=torch.int64))),
    "booleans": (lambda x, y: (x > 0) & ~(y > 0.5) | (x == y), lambda: (r(9, 9), r(9, 9))),
    "transpose": (lambda x: x.transpose(0, 1).contiguous() + 1, lambda: (r(37, 45),)),
    "channels_last": (lambda x: (x * 2).contiguous(memory_format=torch.channels_last), lambda: (r(2, 19, 6, 7),)),
    "cat": (lambda x, y: torch.cat([x, y * 2], 1), lambda: (r(3, 10), r(3, 5))),
    "gelu": (lambda x: F.gelu(x), lambda: (r(1000),)),
    "clamp_where": (lambda x: torch.where(x > 0.3, x.clamp(-1, 0.8), x * 0.1), lambda: (r(777),)),
    "sum_all": (lambda x: x.sum(), lambda: (r(13, 17),)),
    "sum_rows": (lambda x: x.sum(-1), lambda: (r(20, 100),)),
    "sum_columns": (lambda x: x.sum(0), lambda: (r(70, 90),)),
    "sum_long_rows": (lambda x: x.sum(-1), lambda: (r(3, 9001),)),
    "sum_in_pieces": (lambda x: x.sum(), lambda: (r(40009),)),
    "figures_of_long_rows": (figures_of_long_rows, lambda: (r(2, 32771),)),
    "mean_of_long_rows_bf16": (lambda x: x.mean(-1), lambda: (r(3, 32768, dtype=BF16),)),
    "least_of_a_long_integer_row": (lambda x: (*x.min(0), x.prod()), lambda: (r(32768, dtype=torch.int64),)),
    "sums_and_what_follows": (sums_and_what_follows, lambda: (r(3, 33301).abs(), r(3, 50), r(3))),
    "sums_of_many_long_rows": (lambda x: x.sum(-1), lambda: (r(9, 32768).abs(),)),
    "variance_in_pieces": (lambda x: torch.var_mean(x, -1, correction=1), lambda: (3 + r(2, 33301),)),
    "softmax_in_pieces": (lambda x: torch.softmax(x, -1), lambda: (r(2, 33301),)),
    "layer_norm_in_pieces": (layer_norm, lambda: (r(2, 33301), r(33301), r(33301))),
    "mean_of_planes": (lambda x: x.mean((2, 3)), lambda: (r(2, 5, 7, 7),)),
    "amax_amin": (lambda x: x.amax(-1) - x.amin(-1), lambda: (r(11, 65),)),
    "argmax": (lambda x: x.argmax(-1), lambda: (r(11, 65),)),
    "any_all": (lambda x: (x > 2).any(-1) | (x > -3).all(-1), lambda: (r(31, 20),)),
    "prod": (lambda x: x.prod(-1), lambda: (r(12, 9),)),
    "softmax": (lambda x: torch.softmax(x, -1), lambda: (r(10, 130),)),
    "softmax_long": (lambda x: torch.softmax(x, -1), lambda: (r(2, 9001),)),
    "softmax_bf16": (lambda x: torch.softmax(x, -1), lambda: (r(10, 64, dtype=BF16),)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), lambda: (r(6, 50),)),
    "masked_softmax": (masked_softmax, lambda: (r(2, 9, 9),)),
    "layer_norm": (layer_norm, lambda: (r(10, 96), r(96), r(96))),
    "layer_norm_bf16": (layer_norm, lambda: (r(10, 96, dtype=BF16), r(96, dtype=BF16), r(96, dtype=BF16))),
    "layer_norm_long": (layer_norm, lambda: (r(2, 9001), r(9001), r(9001))),
    "var": (lambda x: x.var(-1), lambda: (r(10, 33),)),
    "rms_norm_bf16": (rms_norm, lambda: (r(8, 64, dtype=BF16), r(64, dtype=BF16))),
    "batch_norm": (batch_norm, lambda: (r(2, 6, 5, 5), r(6), r(6).abs() + 0.5, r(6), r(6))),
    "embedding": (lambda i, w: F.embedding(i, w), lambda: (torch.randint(0, 10, (4, 7)), r(10, 12))),
    "index_add": (lambda x, i, y: x.index_add(0, i, y), lambda: (r(6, 5), torch.tensor([0, 2, 2, 5]), r(4, 5))),
    "cumsum": (lambda x: x.cumsum(-1), lambda: (r(5, 20),)),
    "cumsum_in_pieces": (lambda x: x.cumsum(-1), lambda: (r(3, 16601).abs(),)),
    "cumsum_in_even_pieces": (lambda x: x.cumsum(1), lambda: (r(2, 16384, 2).abs(),)),
    "cumsum_in_blocks": (lambda x: x.cumsum(-1), lambda: (r(70, 8500).abs(),)),
    "cumsum_of_columns": (lambda x: (x * 2).cumsum(0), lambda: (r(600, 40).abs(),)),
    "cumsum_bf16": (lambda x: x.cumsum(-1) * 0.5, lambda: (r(6, 200, dtype=BF16).abs(),)),
    "cumsum_of_integers": (lambda x: ((x > 0).cumsum(-1), x.cumsum(0)), lambda: (r(40, 300, dtype=torch.int64),)),
    "cumprod_in_pieces": (lambda x: x.cumprod(-1), lambda: (1 + r(2, 16601) * 1e-3,)),
    "cummax": (lambda x: x.cummax(-1), lambda: (ties(9, 65),)),
    "cummin_of_columns": (lambda x: x.cummin(0), lambda: (ties(520, 16),)),
    "cummax_of_integers": (lambda x: x.cummax(0), lambda: (r(90, 7, dtype=torch.int32),)),
    "logcumsumexp": (lambda x: x.logcumsumexp(-1), lambda: (edge_rows(70),)),
    "softmax_and_cumsum": (lambda x: torch.softmax(x, -1).cumsum(-1), lambda: (r(6, 200),)),
    "negative_zeros": (lambda x, y: (1 / -x, 1 / torch.copysign(x, y)), lambda: (ZEROS[0].repeat(2), torch.cat([ZEROS[1], -ZEROS[1] - 1]))),
    "scans_of_one_element": (scans_of_one_element, lambda: (r(12, 40),)),
    "norms_of_one_element": (norms_of_one_element, lambda: (r(12, 40),)),
    "scan_of_what_was_stored": (scan_of_what_was_stored, lambda: (r(6, 17), r(6, 17))),
    "scatters_into_one_place": (scatters_into_one_place, lambda: (r(1, 9), r(1, 1), torch.tensor([0, 0, 0, 0, 0]))),
    "sums_scattered_beside_rows": (sums_scattered_beside_rows, lambda: (r(12, 64), torch.tensor([0, 2, 2, 4, 1, 0, 2, 2, 2, 3, 3, 1]))),
    "digamma": (lambda x: torch.digamma(x), lambda: (torch.cat([torch.linspace(-4.97, 30, 400), EDGES.float()]),)),
    "powers_of_integers": (lambda x, y: x**y, lambda: (torch.arange(-4, 5).repeat(9), torch.arange(-4, 5).repeat_interleave(9))),
    "no_elements": (lambda x: (F.pad(x, (-2, -3, 1, 1), value=1.0), x.new_ones(2, 0) * 3, x.new_zeros(0, 4, 0).transpose(0, 1)), lambda: (r(4, 5),)),
    "sums_of_no_elements": (lambda x: (x[:, :0].sum(1), x[:0].sum(0), torch.softmax(x[:, :0] * 2, -1)), lambda: (r(4, 5),)),
    "norm_stored_turned": (lambda *a: layer_norm(*a).transpose(1, 2).contiguous(), lambda: (r(2, 40, 96), r(96), r(96))),
    "batch_norm_of_planes": (batch_norm_of_planes, lambda: (r(2, 3, 9, 9), r(3), r(3).abs() + 0.5, r(3), r(3))),
    "biased_softmax": (biased_softmax, lambda: (r(5, 3, 9, 9), r(17, 3), torch.randint(0, 17, (9, 9)))),
    "mean_of_norms": (lambda *a: layer_norm(*a).mean(1), lambda: (r(2, 10, 20), r(20), r(20))),
    "division_and_root_float64": (lambda x: (x / 3.0).sqrt() + x.rsqrt(), lambda: (r(40, dtype=torch.float64).abs() + 0.1,)),
    "mean_of_planes_float64": (lambda x: F.adaptive_avg_pool2d(x, 7).flatten(1).sum(-1), lambda: (r(2, 3, 14, 14, dtype=torch.float64),)),
    "lesser_zero": (lambda x, y: 1 / torch.minimum(x, y), lambda: ZEROS),
    "lesser_zero_bf16": (lambda x, y: 1 / torch.minimum(x, y), lambda: tuple(x.bfloat16() for x in ZEROS)),
    "greater_zero": (lambda x, y: 1 / torch.maximum(x, y), lambda: ZEROS),
    "layer_norm_of_huge_rows": (layer_norm, huge_rows),
    "cumprod_and_sum": (cumprod_and_sum, lambda: (r(3, 5, 6),)),
    "sum_of_slice_scatter": (lambda x, y: torch.slice_scatter(x, y, 1, 0, 6).sum(1), lambda: (r(4, 13, 9), r(4, 6, 9))),
    "norm_of_merged_patches": (norm_of_merged_patches, lambda: (r(2, 4, 6, 12), r(48), r(48))),
    "mean_of_activated_planes": (mean_of_activated_planes, lambda: (r(2, 20, 9, 9).contiguous(memory_format=torch.channels_last),)),
    "hardswish_bf16": (lambda x, y: F.hardswish(x) / (y.abs() + 1), lambda: (r(9, 40, dtype=BF16), r(9, 40, dtype=BF16))),
    "silu_bf16": (lambda x: F.silu(x) + torch.sigmoid(x).reciprocal(), lambda: (r(300, dtype=BF16),)),
    "tanh_bf16": (lambda x: torch.tanh(x * 0.02) * torch.tanh(x), lambda: (r(300, dtype=BF16),)),
    "buckets_bf16": (lambda x, w: w[torch.log2(x / 3.0).floor().long()], lambda: (torch.tensor([3.0, 6.0, 12.0, 24.0, 48.0]), r(6, 8, dtype=BF16))),
    "gelu_bf16": (lambda x: F.gelu(x), lambda: (torch.linspace(-6, 6, 3001).bfloat16(),)),
    "erf_f16": (lambda x: torch.erf(x), lambda: (torch.cat([torch.linspace(-5, 5, 2000), EDGES.float() * 1e-3, EDGES.float()]).half(),)),
    "cross_entropy_long": (lambda x, t: F.cross_entropy(x, t), lambda: (r(3, 9001), torch.tensor([5, 9000, -100]))),
    "softmax_of_edges_long": (lambda x: torch.softmax(x, -1), lambda: (edge_rows(9001),)),
    "rotary": (rotary, lambda: (r(2, 4, 9, 8), torch.linspace(0.01, 1, 4))),
    "depthwise": (lambda x, w, b: depthwise(x, w, b, padding=1), lambda: (in_planes_of_channels(r(2, 24, 9, 9)), r(24, 1, 3, 3), r(24))),
    "depthwise_stepped_bf16": (
        lambda x, w, b: depthwise(x, w, b, padding=(2, 4), stride=2, dilation=(1, 2)),
        lambda: (in_planes_of_channels(r(2, 24, 10, 11, dtype=BF16)), 0.1 * r(24, 1, 5, 5, dtype=BF16), r(24, dtype=BF16)),
    ),
    "depthwise_in_tiles": (lambda x, w, b: depthwise(x, w, b, padding=1), lambda: (in_planes_of_channels(r(2, 48, 9, 9)), r(48, 1, 3, 3), r(48))),
    "depthwise_in_whole_rows_f16": (
        lambda x, w, b: depthwise(x, w, b, padding=1, stride=2),
        lambda: (in_planes_of_channels(r(3, 64, 11, 10, dtype=torch.float16)), 0.1 * r(64, 1, 3, 3, dtype=torch.float16), r(64, dtype=torch.float16)),
    ),
    "depthwise_of_rows": (lambda x, w, b: depthwise(x, w, b, padding="same"), lambda: (r(2, 5, 7, 8), r(5, 1, 2, 4), r(5))),
    "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), lambda: (r(2, 3, 9, 9),)),
}  # fmt: skip


# Programs that sort: these compile for seconds.
SORTS = {
    "sort": (lambda x: x.sort(dim=-1, stable=True), lambda: (ties(9, 65),)),
    "sort_columns_descending": (lambda x: x.sort(dim=0, descending=True, stable=True), lambda: (ties(70, 30),)),
    "sort_long_columns": (lambda x: x.sort(dim=1, stable=True), lambda: (ties(2, 140, 3),)),
    "sort_bf16": (lambda x: x.sort(dim=-1, stable=True), lambda: (ties(4, 100).bfloat16(),)),
    "sort_integers": (sort_integers, lambda: (r(5, 90, dtype=torch.int32),)),
    "sort_of_sums": (lambda x: x.sum(-1).sort(dim=-1, stable=True), lambda: (r(6, 40, 9),)),
    "most_likely": (most_likely, lambda: (r(5, 128),)),
    "ranks": (lambda x: x.argsort(dim=-1, stable=True).int().argsort(dim=-1), lambda: (r(4, 60),)),
}  # fmt: skip


# Programs that call functions of the device's library, which the interpreter does not have, or that take it minutes.
LIBRARY_PROGRAMS = {
    "logcumsumexp_of_columns": (lambda x: x.logcumsumexp(0), lambda: (torch.cat([edge_rows(520)] * 4).t().contiguous(),)),
    "cummax_in_pieces": (lambda x: (*x.cummax(-1), *x.cummin(-1)), lambda: (ties(5, 17000),)),
    "cummax_in_blocks": (lambda x: (*x.cummax(-1), *x.cummin(-1)), lambda: (ties(70, 8500),)),
    "logcumsumexp_in_blocks": (lambda x: x.logcumsumexp(-1), lambda: (edge_rows(9001),)),
    "floor_division_float64": (lambda x, y: torch.div(x, y, rounding_mode="floor"), lambda: (EDGES.repeat(8), EDGES.repeat_interleave(8))),
}

def kept(seed, count, share):
    """Which elements dropout keeps: word k % 4 of Philox 4x32-10 at counter k / 4 is not below the share."""
    words = []
    for counter in range((count + 3) // 4):
        c, key = [counter, 0, 0, 0], [seed % 2**32, seed // 2**32 % 2**32]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [q >> 32 ^ c[1] ^ key[0], q % 2**32, p >> 32 ^ c[3] ^ key[1], p % 2**32]
            key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
        words += c
    return torch.tensor(words[:count]) >= round(share * 2**32)


# Programs that draw a seed, here SEED; what they keep is known.
RANDOM_PROGRAMS = {
    "dropout_add": (lambda x, y: F.dropout(x, 0.25, training=True) + y, lambda: (torch.full((37, 41), 3.0), torch.ones(37, 41))),
    "dropout_mask": (lambda x: torch.native_dropout(x, 0.5, True), lambda: (torch.full((3, 5, 7), -1.5),)),
}

# What is right where eager on a CPU depends on its instruction set.
EXPECTED = {
    "lesser_zero": torch.tensor([-INF, -INF, -INF, INF]),
    "lesser_zero_bf16": torch.tensor([-INF, -INF, -INF, INF]).bfloat16(),
    "greater_zero": torch.tensor([INF, INF, -INF, INF]),
    "layer_norm_of_huge_rows": SHIFT.expand(3, 64),  # the variance is infinite
    "dropout_add": kept(SEED, 37 * 41, 0.25).reshape(37, 41) * 4.0 + 1.0,
    "dropout_mask": (kept(SEED, 105, 0.5).reshape(3, 5, 7) * -3.0, kept(SEED, 105, 0.5).reshape(3, 5, 7)),
}


def capture(function, inputs):
    """(graph, inputs of the graph): what AOTAutograd hands to a compiler, with parameters as inputs."""
    seen = {}

    def compiler(gm, example_inputs):
        def run(*arguments):
            seen["inputs"] = arguments
            return gm(*arguments)

        seen["gm"] = gm
        return make_boxed_func(run)

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=aot_autograd(fw_compiler=compiler))(*inputs)
    return seen["gm"], [x.detach() for x in seen["inputs"]]


TENSOR = re.compile(r"\b(?:[a-z]+\d*|bf16|bool)\[[^\]]*\](?: strides \[[^\]]*\])?(?: offset (?:\d+|\[[^\]]*\]))?")


def gpu_text(gm):
    """The graph's text with every tensor on the GPU."""
    lines = []
    for line in export.export(gm, "test", True, {}).builder.text().splitlines():
        line = re.sub(r"\bcpu\b", "cuda:0", line.split("  #")[0])
        head, arrow, tail = line.rpartition(" -> " if " -> " in line else " : ")
        lines.append(line if line.startswith("schema") else head + arrow + TENSOR.sub(lambda m: m[0] + " on cuda:0", tail))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """name -> folder with the generated modules, the wrapper's lines and the tensors."""
    return save_cases(tmp_path_factory.mktemp("triton"), PROGRAMS)


@pytest.fixture(scope="module")
def sorts(tmp_path_factory):
    return save_cases(tmp_path_factory.mktemp("sorts"), SORTS)


def save_cases(folder, programs):
    torch.manual_seed(0)
    for name, (function, make) in programs.items():
        inputs = make()
        gm, given = capture(function, inputs)
        text = gpu_text(gm)
        case = dict(
            source=_C.run_text(text, "generate_code"),
            wrapper=_C.run_text(text, "build_wrapper"),
            inputs=given,
            seed=SEED,
            expected=EXPECTED[name] if name in EXPECTED else function(*inputs),
        )
        torch.save(case, folder / f"{name}.pt")
    return folder


def run(mode, folder, *names, **environment):
    command = [sys.executable, os.path.join(HERE, "triton_cases.py"), mode, str(folder), *names]
    result = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment))
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("folder", ["sources", "sorts"])
def test_kernels_in_the_interpreter_give_what_eager_gives(folder, request):
    failures = run("interpret", request.getfixturevalue(folder), TRITON_INTERPRET="1")
    assert not failures, "\n".join(f"{k}: {v}" for k, v in failures.items())


def test_random_numbers_depend_on_seed_and_place_alone(tmp_path):
    save_cases(tmp_path, RANDOM_PROGRAMS)
    failures = run("interpret", tmp_path, TRITON_INTERPRET="1")
    assert not failures, "\n".join(f"{k}: {v}" for k, v in failures.items())


def test_kernels_compile_for_every_architecture_without_a_gpu(sources, tmp_path):
    save_cases(sources, LIBRARY_PROGRAMS | RANDOM_PROGRAMS)
    failures = run("compile", sources, *TARGETS, TRITON_CACHE_DIR=str(tmp_path))
    assert not failures, "\n".join(f"{k}: {v}" for k, v in failures.items())


def test_what_other_programs_wrote_is_read_behind_their_count(tmp_path):
    (folder := tmp_path / "cases").mkdir()
    save_cases(folder, {name: PROGRAMS[name] for name in ("sum_in_pieces", "softmax_in_pieces")})
    failures = run("order", folder, "cuda:80", "cuda:90", TRITON_CACHE_DIR=str(tmp_path))
    assert not failures, "\n".join(f"{k}: {v}" for k, v in failures.items())


def test_sorts_compile_without_a_gpu(sorts, tmp_path):
    failures = run("compile", sorts, "cuda:90", "hip:gfx942", TRITON_CACHE_DIR=str(tmp_path))
    assert not failures, "\n".join(f"{k}: {v}" for k, v in failures.items())


# name of a program, inputs too many for the interpreter, how many instances its widest kernel must have
WIDE = [
    ("batch_norm_of_planes", lambda: (r(2, 3, 200, 200), r(3), r(3).abs() + 0.5, r(3), r(3)), 200),
    ("biased_softmax", lambda: (r(500, 3, 9, 9), r(17, 3), torch.randint(0, 17, (9, 9))), 100),
    ("mean_of_norms", lambda: (r(2, 600, 200), r(200), r(200)), 100),
    ("norm_of_merged_patches", lambda: (r(4, 28, 28, 96), r(384), r(384)), 196),
    ("mean_of_activated_planes", lambda: (r(32, 64, 112, 112).contiguous(memory_format=torch.channels_last),), 128),
]


# function, size of its input, kernels: of phases, with statements that the last program runs, without
LONG = [
    (lambda x: x.sum(-1), (1, 1 << 20), (1, 1, 2)),
    (lambda x: x.argmax(-1), (8, 131072), (1, 1, 2)),
    (lambda x: x.var(-1), (8, 131072), (1, 2, 4)),
    (lambda x: x.cumsum(-1), (8, 131072), (1, 2, 3)),
    (lambda x: torch.softmax(x, -1), (8, 131072), (1, 3, 5)),
    (lambda x: F.layer_norm(x, x.shape[-1:]), (8, 131072), (1, 3, 5)),
]


@pytest.mark.parametrize("function, size, counts", LONG)
def test_one_launch_computes_what_few_long_rows_give(function, size, counts):
    graph = gpu_text(capture(function, (torch.zeros(size),))[0])
    for count, settings in zip(counts, [[], ["skip=make_cooperative_kernels"], ["skip=append_small_kernels"]], strict=True):
        wrapper = _C.run_text(graph, "build_wrapper", *settings)
        assert len(re.findall(r"^  call ", wrapper, re.M)) == count, wrapper


def test_programs_wait_for_each_other_in_kernels_of_phases_alone():
    for function, size, (with_phases, with_last, _) in LONG:
        graph = gpu_text(capture(function, (torch.zeros(size),))[0])
        source = _C.run_text(graph, "generate_code")
        assert ("lt.wait_for(" in source) == ("is_cooperative=True" in source) == (with_phases < with_last), source
        source = _C.run_text(graph, "generate_code", "skip=make_cooperative_kernels")
        assert "lt.is_last_program(counter, 0)" in source and "lt.wait_for(" not in source, source


def test_what_runs_between_two_kernels_keeps_them_apart():
    """The small kernel reads what a product makes of the pieces, and cannot run before it."""

    def function(x, w):
        s = x.sum(-1)
        return (s[None] @ w + s).sigmoid()

    graph = gpu_text(capture(function, (torch.zeros(8, 131072), torch.zeros(8, 8)))[0])
    wrapper = _C.run_text(graph, "build_wrapper")
    order = re.findall(r"^  (call|extern) ", wrapper, re.M)
    assert order == ["call", "extern", "call"], wrapper


@pytest.mark.parametrize("name, make, least", WIDE, ids=[name for name, *_ in WIDE])
def test_kernels_keep_enough_programs(name, make, least):
    """A kernel over many elements that runs in a handful of programs leaves a device idle, whatever it saves in traffic."""
    wrapper = _C.run_text(gpu_text(capture(PROGRAMS[name][0], make())[0]), "build_wrapper")
    grids = [int(n) for n in re.findall(r"range (\d+)", wrapper)]
    assert max(grids) >= least, grids


def test_a_normalised_matrix_is_stored_turned_by_whole_sectors(sources):
    source = torch.load(sources / "norm_stored_turned.pt", weights_only=False)["source"]
    assert "XBLOCK: tl.constexpr = 16" in source, source


def depthwise_wrapper(kernel, *settings):
    """The wrapper of a convolution of each channel by itself, its input a result of its own."""

    def function(x, w):
        return F.relu(F.conv2d(F.relu(x), w, padding=kernel // 2, groups=16)) * 2

    graph = gpu_text(capture(function, (in_planes_of_channels(r(2, 16, 12, 12)), r(16, 1, kernel, kernel)))[0])
    return _C.run_text(graph, "build_wrapper", *settings)


def index_add(x, i, y):
    return x.index_add(0, i, y)


def scatter_amax(x, i, y):
    return x.scatter_reduce(0, i, y, "amax")


# function, type of the elements, settings, whether the framework combines the elements
SCATTERS = [
    (index_add, torch.float32, [], False),
    (index_add, torch.bfloat16, [], False),
    (index_add, torch.int8, [], True),
    (index_add, torch.float32, ["deterministic=true"], True),
    (index_add, torch.int64, ["deterministic=true"], False),
    (scatter_amax, torch.int64, [], False),
    (scatter_amax, torch.float32, [], True),  # atomic extrema would lose NaN
    (scatter_amax, torch.bfloat16, [], True),
    (scatter_amax, torch.int16, [], True),
]


@pytest.mark.parametrize("function, dtype, settings, is_extern", SCATTERS)
def test_blocks_combine_elements_where_an_atomic_instruction_does_it_rightly(function, dtype, settings, is_extern):
    index = torch.tensor([0, 2, 2, 5]) if function is index_add else torch.tensor([[0, 2, 2, 5]])
    given = (r(6, dtype=dtype), index, r(4, dtype=dtype)) if function is index_add else (r(6, 5, dtype=dtype), index, r(1, 4, dtype=dtype))
    wrapper = _C.run_text(gpu_text(capture(function, given)[0]), "build_wrapper", *settings)
    assert ("extern" in wrapper) == is_extern, wrapper


def test_pytorchs_switch_makes_compiles_deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        assert options.resolve()["deterministic"] == "true"
    finally:
        torch.use_deterministic_algorithms(False)
    assert "deterministic" not in options.resolve()


@pytest.mark.parametrize("kernel, count", [(3, 2), (5, 3)])
def test_a_small_depthwise_convolution_becomes_a_kernel_with_what_reads_it(kernel, count):
    """What it reads several times is computed once: its input and, of larger windows, the weight with channels last are results of their
    own."""
    wrapper = depthwise_wrapper(kernel)
    assert wrapper.count("call fused") == count and " aten.convolution" not in wrapper, wrapper


@pytest.mark.parametrize("kernel, settings", [(7, []), (3, ["numerics=strict"])])
def test_the_library_computes_wide_windows_and_what_must_round_as_eager(kernel, settings):
    wrapper = depthwise_wrapper(kernel, *settings)
    assert wrapper.count("call fused") == 2 and " aten.convolution" in wrapper, wrapper


def test_a_window_is_fused_with_no_loop_over_planes():
    """A program that walked whole planes would read what its other threads had just written."""

    def function(x, w):
        y = F.hardswish(F.conv2d(F.silu(x), w, padding=2, groups=16))
        return y, y.mean((2, 3))

    graph = gpu_text(capture(function, (in_planes_of_channels(r(2, 16, 12, 12)), r(16, 1, 5, 5)))[0])
    kernels = _C.run_text(graph, "build_wrapper")
    assert kernels.count("call fused") == 4, kernels


def test_offsets_beyond_32_bits_are_computed_in_64():
    """The index of a loop is as wide as the offsets that it is multiplied into."""
    graph = gpu_text(capture(lambda x: x.to(torch.float32).mean(), [torch.ones(53, 107, dtype=torch.int32)])[0])
    source = _C.run_text(graph.replace("53", "50000").replace("107", "100000"), "generate_code")
    loops = re.findall(r"for (\w+)_start in .*\n\s+(.*)\n", source)
    assert loops, source
    for name, line in loops:
        assert line.startswith(f"{name} = tl.cast({name}_start, tl.int64)"), line
