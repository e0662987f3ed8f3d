"""Attention as models write it, and what only looks like it: functions of query, key, value and more, with their inputs."""

import math

import torch
import torch.nn.functional as F


def heads(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator).to(dtype) for _ in range(3)]


def noise(*shape, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attend(q, k, v):
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v


def scaled_query(q, k, v):  # Swin
    return (q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)).softmax(-1) @ v


def scaled_key(q, k, v):
    return (q @ (k / math.sqrt(k.shape[-1])).transpose(-2, -1)).softmax(-1) @ v


def scaled_scores_of_both(q, k, v):
    return ((q * 0.5) @ (k.transpose(-2, -1) * 0.25) * 2 / 3).softmax(-1) @ v


def bert(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
    return (F.softmax(scores, dim=-1) @ v).permute(0, 2, 1, 3).contiguous().view(q.shape[0], q.shape[2], -1)


def gpt2(q, k, v):
    w = torch.matmul(q, k.transpose(-1, -2))
    w = w / torch.full([], v.size(-1) ** 0.5, dtype=w.dtype, device=w.device)
    causal = torch.ones(w.shape[-2:], dtype=torch.bool, device=w.device).tril()
    w = torch.where(causal, w, torch.full([], torch.finfo(w.dtype).min, dtype=w.dtype, device=w.device))
    w = F.softmax(w, dim=-1).type(v.dtype)
    return torch.matmul(F.dropout(w, 0.1, training=False), v).transpose(1, 2)


def nano_gpt(q, k, v, ones):
    w = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    w = F.softmax(w.masked_fill(ones == 0, float("-inf")), dim=-1)
    return (w @ v).transpose(1, 2).contiguous().view(q.shape[0], q.shape[2], -1)


def t5(q, k, v, bias):
    scores = torch.matmul(q, k.transpose(3, 2)) + bias
    return torch.matmul(F.softmax(scores.float(), dim=-1).type_as(scores), v)


def bloom(q, k, v, alibi, mask):  # three dimensions around a softmax of four
    scores = alibi.baddbmm(q, k.transpose(1, 2), beta=1.0, alpha=0.25).view(2, -1, q.shape[1], k.shape[1])
    p = F.softmax(torch.masked_fill(scores, mask, torch.finfo(torch.bfloat16).min), dim=-1, dtype=torch.float32).to(v.dtype)
    return torch.bmm(p.view(-1, q.shape[1], k.shape[1]), v)


def fairseq(q, k, v):
    return torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(-1), v)


def einsum(q, k, v):
    p = (torch.einsum("bhid,bhjd->bhij", q, k) * 0.25).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", p, v)


def einsum_of_rows(q, k, v):  # [batch, rows, heads, width]
    p = torch.einsum("bihd,bjhd->bhij", q, k).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", p, v)


def from_projection(x, weight):  # ViT: one product for query, key and value
    b, n, c = x.shape
    q, k, v = F.linear(x, weight).reshape(b, n, 3, 4, c // 4).permute(2, 0, 3, 1, 4).unbind(0)
    return ((q * 0.25) @ k.transpose(-2, -1)).softmax(-1).matmul(v).transpose(1, 2).reshape(b, n, c)


def swin(q, k, v, table, index, mask):  # windows: a bias for each head, a mask for each window
    windows, n = mask.shape[0], q.shape[2]
    scores = (q * 0.25) @ k.transpose(-2, -1)
    scores = scores + table[index.view(-1)].view(n, n, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
    scores = scores.view(-1, windows, q.shape[1], n, n) + mask.unsqueeze(1).unsqueeze(0)
    return scores.view(-1, q.shape[1], n, n).softmax(-1) @ v


def added_then_scaled(q, k, v, mask):
    return ((q @ k.transpose(-2, -1) + mask) * 0.5).softmax(-1) @ v


def two_masks(q, k, v, mask, keep):
    scores = (q @ k.transpose(-2, -1)).masked_fill(~keep, torch.finfo(torch.bfloat16).min) + mask
    return scores.softmax(-1) @ v


def grouped(q, k, v):  # two query heads for one key head
    k, v = (t[:, :2, None].expand(-1, -1, 2, -1, -1).reshape(q.shape) for t in (k, v))
    return (q @ k.transpose(-2, -1) * 0.25).softmax(-1) @ v


def with_transposed_keys(q, kt, v):
    return (q @ kt * 0.25).softmax(-1) @ v


def two_layers(q, k, v):
    y = (q @ k.transpose(-2, -1) * 0.25).softmax(-1) @ v
    return (y @ k.transpose(-2, -1) * 0.25).softmax(-1) @ (v + y)


def lower(n):
    return torch.zeros(n, n).masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)


def cases():
    q, k, v = heads(2, 4, 10, 16)
    long = torch.randn(2, 4, 7, 16, generator=torch.Generator().manual_seed(3))
    dead = torch.zeros(2, 1, 10, 10)
    dead[0, :, 3], dead[1, :, :, 4:] = -math.inf, -math.inf
    least = torch.zeros(2, 1, 10, 10)
    least[0, :, 3], least[1, :, :, 4:] = torch.finfo().min, torch.finfo().min
    keep = torch.ones(2, 1, 10, 10, dtype=torch.bool).tril()
    all_filled = keep.clone()
    all_filled[1, :, 5] = False
    window = heads(12, 3, 9, 8)
    three = heads(8, 10, 16)
    return {
        "plain": (attend, (q, k, v)),
        "more keys than queries": (attend, (long, k, v)),
        "values of another width": (attend, (q, k, noise(2, 4, 10, 24))),
        "scaled query": (scaled_query, (q, k, v)),
        "scaled key": (scaled_key, (q, k, v)),
        "scaled everywhere": (scaled_scores_of_both, (q, k, v)),
        "bert": (bert, (q, k, v, noise(2, 1, 1, 10))),
        "bert, rows of -inf": (bert, (q, k, v, dead)),
        "bert, rows of the least number": (bert, (q, k, v, least)),
        "bert, a mask of one row": (bert, (q, k, v, lower(10))),
        "gpt2": (gpt2, (q, k, v)),
        "nano gpt": (nano_gpt, (q, k, v, torch.ones(1, 1, 10, 10).tril())),
        "nano gpt, a row without keys": (nano_gpt, (q, k, v, torch.ones(1, 1, 10, 10).tril(-1))),
        "t5": (t5, (q, k, v, noise(1, 4, 10, 10))),
        "bloom": (bloom, (*three, noise(8, 1, 10), torch.rand(2, 1, 10, 10, generator=torch.Generator().manual_seed(1)) > 0.5)),
        "bloom, a row of fills": (bloom, (*three, noise(8, 1, 10), ~all_filled)),
        "fairseq": (fairseq, three),
        "einsum": (einsum, (q, k, v)),
        "einsum of rows": (einsum_of_rows, heads(2, 10, 4, 16)),
        "from one projection": (from_projection, (noise(2, 10, 64), noise(192, 64, seed=8) / 8)),
        "swin": (swin, (*window, noise(25, 3), torch.randint(0, 25, (9, 9), generator=torch.Generator().manual_seed(2)), (noise(4, 9, 9) > 0) * -100.0)),
        "added, then scaled": (added_then_scaled, (q, k, v, noise(4, 10, 10))),
        "two masks": (two_masks, (q, k, v, noise(2, 1, 1, 10), keep)),
        "two masks, a row of fills": (two_masks, (q, k, v, noise(2, 1, 1, 10), all_filled)),
        "grouped heads": (grouped, (q, k, v)),
        "keys stored transposed": (with_transposed_keys, (q, k.transpose(-2, -1).contiguous(), v)),
        "two layers": (two_layers, (q, k, v)),
        "five dimensions": (attend, heads(2, 3, 2, 10, 16)),
    }


NEAR_MISSES = {
    "softmax over the queries": (lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-2) @ v, "over dimension"),
    "softmax over heads": (lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(1) @ v, "over dimension"),
    "probabilities returned": (lambda q, k, v: ((p := (q @ k.transpose(-2, -1)).softmax(-1)) @ v, p), "readers"),
    "probabilities used twice": (lambda q, k, v: (p := (q @ k.transpose(-2, -1)).softmax(-1)) @ v + p @ q, "readers"),
    "scores used twice": (lambda q, k, v: (s := q @ k.transpose(-2, -1)).softmax(-1) @ v + s.sum(), "readers"),
    "probabilities transposed": (lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1).transpose(-2, -1) @ v, "not over the keys"),
    "probabilities on the right": (lambda q, k, v: v.transpose(-2, -1) @ (q @ k.transpose(-2, -1)).softmax(-1), "not over the keys"),
    "masked after the softmax": (lambda q, k, v: ((q @ k.transpose(-2, -1)).softmax(-1) * (k[..., 0] > 0).unsqueeze(-2)) @ v, "between the softmax"),
    "added after the softmax": (lambda q, k, v: ((q @ k.transpose(-2, -1)).softmax(-1) + 1e-6) @ v, "between the softmax"),
    "heads moved between the products": (
        lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1).permute(2, 0, 1, 3) @ v.permute(2, 0, 1, 3)[:, :, :1].expand(-1, -1, 10, -1), "other rows"),
    "scores scaled by a tensor": (lambda q, k, v: (q @ k.transpose(-2, -1) * v[..., :1]).softmax(-1) @ v, None),
    "scores scaled by a negative number": (lambda q, k, v: (q @ k.transpose(-2, -1) * -1.0).softmax(-1) @ v, "multiplied by -1"),
    "scores bent": (lambda q, k, v: torch.tanh(q @ k.transpose(-2, -1)).softmax(-1) @ v, None),
    "a truth value is added": (lambda q, k, v: (q @ k.transpose(-2, -1) + (q[..., :1] > 0)).softmax(-1) @ v, "a mask of bool"),
    "filled with a score": (lambda q, k, v: (q @ k.transpose(-2, -1)).masked_fill(k[..., 0].unsqueeze(-2) > 0, -3.0).softmax(-1) @ v, "filled with -3"),
    "a narrower softmax": (lambda q, k, v: (q @ k.transpose(-2, -1)).bfloat16().softmax(-1).float() @ v, "cast from f32 to bf16"),
    "values of another type": (lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1).double() @ v.double(), "between the softmax"),
    "wide products of narrow tensors": (
        lambda q, k, v: (q.bfloat16().float() @ k.bfloat16().float().transpose(-2, -1)).softmax(-1).bfloat16() @ v.bfloat16(), "products are of"),
}
