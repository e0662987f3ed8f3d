#!/usr/bin/env python3
"""Measures Litz on a GPU: unit programs for correctness, then the twelve models (bfloat16 inference) beside eager and TorchInductor.

All of a model's candidates run in one process and take turns, round by round: eager, both compilers in default mode, and both in
mode=reduce-overhead (`_graphs`). Results are written after every row. Times are CUDA-event times around a whole call, medians, in
milliseconds; `gpu_ms` is the sum of kernel times of one call from torch's profiler. `error` is the relative L2 error against the model
in float64, `eager_error` eager's own; `right` is an error of at most 1.5 times eager's plus half an ulp of bfloat16.
"""
from __future__ import annotations

import argparse
import copy
import gc
import json
import math
import os
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_AUTOGRAD_CACHE", "0")
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())
os.environ.setdefault("HF_HUB_OFFLINE", "1")

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the modules of this folder are the package `benchmarks`

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import litz  # noqa: E402
from benchmarks import bandwidth, machine  # noqa: E402
from benchmarks.models import cast  # noqa: E402

try:
    torch._dynamo.register_backend(litz.backend_entry, name="litz")
except Exception:  # an installed wheel has registered it
    pass

BF16 = torch.bfloat16


def timm_model(name, batch):
    def build():
        import timm

        return timm.create_model(name, pretrained=False), dict(x=torch.randn(batch, 3, 224, 224, device="cuda"))

    return build


def transformer(config, head, inputs, **settings):
    def build():
        import transformers

        chosen = getattr(transformers, config)(**settings)
        make = lambda shape: torch.randint(0, chosen.vocab_size, shape, device="cuda")
        return getattr(transformers, head)(chosen), {name: make(shape) for name, shape in inputs.items()}

    return build


MODELS = {
    "bert_base": transformer("BertConfig", "BertForMaskedLM", dict(input_ids=(16, 512))),
    "resnet50": timm_model("resnet50", 32),
    "gpt2": transformer("GPT2Config", "GPT2LMHeadModel", dict(input_ids=(8, 1024)), use_cache=False),
    "llama_small": transformer(
        "LlamaConfig", "LlamaForCausalLM", dict(input_ids=(4, 1024)), hidden_size=2048, intermediate_size=5632, num_hidden_layers=8,
        num_attention_heads=32, num_key_value_heads=8, vocab_size=32000, use_cache=False),
    "vit_base": timm_model("vit_base_patch16_224", 32),
    "convnext_tiny": timm_model("convnext_tiny", 32),
    "mobilenetv3": timm_model("mobilenetv3_large_100", 64),
    "distilbert": transformer("DistilBertConfig", "DistilBertForMaskedLM", dict(input_ids=(16, 512))),
    "t5_small": transformer(
        "T5Config", "T5ForConditionalGeneration", dict(input_ids=(8, 512), decoder_input_ids=(8, 512)), use_cache=False, vocab_size=32128,
        d_model=512, num_layers=6, num_heads=8, d_ff=2048),
    "mixer_b16": timm_model("mixer_b16_224", 32),
    "efficientnet_b0": timm_model("efficientnet_b0", 64),
    "swin_tiny": timm_model("swin_tiny_patch4_window7_224", 32),
}


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


# name -> function, inputs, whether sizes are dynamic
UNITS = {
    "pointwise": (lambda x, y: F.silu(x) * y + 1, lambda: (randn(4096, 4096), randn(4096, 4096)), None),
    "pointwise_bf16": (lambda x, y: F.gelu(x) * y, lambda: (randn(4096, 4096, dtype=BF16), randn(4096, 4096, dtype=BF16)), None),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda: (randn(1000, 777, dtype=BF16),), None),
    "softmax": (lambda x: torch.softmax(x, -1), lambda: (randn(16384, 1024),), None),
    "softmax_long": (lambda x: torch.softmax(x, -1), lambda: (randn(64, 50257),), None),
    "softmax_bf16": (lambda x: torch.softmax(x, -1), lambda: (randn(16384, 1024, dtype=BF16),), None),
    "layer_norm_bf16": (lambda x, w, b: F.layer_norm(x, (768,), w, b), lambda: (randn(16384, 768, dtype=BF16), randn(768, dtype=BF16), randn(768, dtype=BF16)), None),
    "rms_norm": (lambda x, w: F.rms_norm(x, (2048,), w), lambda: (randn(4096, 2048, dtype=BF16), randn(2048, dtype=BF16)), None),
    "sum_rows": (lambda x: x.sum(-1), lambda: (randn(8192, 2048),), None),
    "sum_columns": (lambda x: x.sum(0), lambda: (randn(8192, 2048),), None),
    "sum_all": (lambda x: x.sum(), lambda: (randn(1024, 1024),), None),
    "transpose": (lambda x: x.t().contiguous() + 1, lambda: (randn(4096, 4096),), None),
    "channels_last": (lambda x: (x * 2).contiguous(memory_format=torch.channels_last), lambda: (randn(32, 64, 56, 56, dtype=BF16),), None),
    "batch_norm": (lambda x, m, v: F.relu(F.batch_norm(x, m, v)), lambda: (randn(8, 64, 56, 56), randn(64), randn(64).abs() + 1), None),
    "argmax": (lambda x: x.argmax(-1), lambda: (randn(1000, 1234),), None),
    "mm_bias_relu": (lambda x, w, b: F.relu(F.linear(x, w, b)), lambda: (randn(512, 256, dtype=BF16), randn(128, 256, dtype=BF16), randn(128, dtype=BF16)), None),
    "conv_relu": (lambda x, w: F.relu(F.conv2d(x, w, padding=1)), lambda: (randn(4, 32, 28, 28, dtype=BF16), randn(64, 32, 3, 3, dtype=BF16)), None),
    "embedding": (lambda i, w: F.embedding(i, w) * 2, lambda: (torch.randint(0, 1000, (64, 128), device="cuda"), randn(1000, 768)), None),
    "index_add": (lambda x, i, y: x.index_add(0, i, y), lambda: (randn(100, 64), torch.randint(0, 100, (1000,), device="cuda"), randn(1000, 64)), None),
    "cumsum": (lambda x: x.cumsum(-1), lambda: (randn(512, 300),), None),
    "dynamic_softmax": (lambda x: torch.softmax(x * 2, -1), lambda: (randn(37, 451),), True),
    "dynamic_pointwise": (lambda x, y: x * y + y, lambda: (randn(123, 77), randn(77)), True),
    "misaligned": (lambda x: x * 2 + 1, lambda: (randn(10001)[1:],), None),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), lambda: tuple(randn(2, 8, 256, 64, dtype=BF16) for _ in range(3)), None),
    "mutation": (lambda x: x.add_(1).mul_(2) + 1, lambda: (randn(1000),), None),
}  # fmt: skip


def relative_error(actual, expected):
    actual, expected = actual.double(), expected.double()
    return ((actual - expected).norm() / expected.norm().clamp_min(1e-30)).item()


def run_unit(name):
    torch._dynamo.reset()
    torch.manual_seed(0)
    function, make, dynamic = UNITS[name]
    inputs = make()
    expected = function(*[x.clone() if name == "mutation" else x for x in inputs])
    compiled = torch.compile(function, backend="litz", dynamic=dynamic, options={"fallback": "error"})
    start = time.perf_counter()
    actual = compiled(*[x.clone() if name == "mutation" else x for x in inputs])
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    row = dict(name=name, first_call_s=first, kernels=litz.last_report()["kernels"], strides_agree=actual.stride() == expected.stride())
    if expected.is_floating_point():
        row["error"] = relative_error(actual, expected)
        row["right"] = row["error"] < (2e-2 if expected.dtype == BF16 else 1e-5)
    else:
        row["right"] = torch.equal(actual, expected)
    if name == "mutation":
        return row
    times = take_turns({"eager": lambda: function(*inputs), "litz": lambda: compiled(*inputs)}, rounds=20)
    return {**row, "eager_ms": times["eager"], "litz_ms": times["litz"]}


def take_turns(candidates, rounds):
    """Median time of each, in milliseconds; the candidates take turns."""
    for call in candidates.values():
        call(), call()
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            begin.record()
            call()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end))
    return {name: sorted(ts)[len(ts) // 2] for name, ts in times.items()}


def gpu_time(call):
    """Sum of the times of one call's kernels, and the ten that take most."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as record:
        call()
        torch.cuda.synchronize()
    rows = [(e.key, e.self_device_time_total / 1e3, e.count) for e in record.key_averages() if e.self_device_time_total]
    rows.sort(key=lambda row: -row[1])
    return sum(row[1] for row in rows), [(key[:90], round(ms, 4), count) for key, ms, count in rows[:12]]


def fill_zeros(module):
    """Layers that an architecture initialises to (nearly) zero get random values, as in models.py: else outputs hide what is before them."""
    for parameter in module.parameters():
        if parameter.numel() > 1 and bool(parameter.detach().abs().max() < 1e-4):
            torch.nn.init.normal_(parameter.data, std=0.02)


def one_kernel_calls():
    """Host time of a call of a program of one kernel, without waiting for the device, in microseconds. `nothing` is a backend that gives
    its input back: what torch.compile itself costs; `litz_alone` the compiled function without torch.compile around it."""
    x = randn(64, 64)
    function = lambda x: torch.softmax(x * 2, -1)
    times, made = {}, []

    def litz_kept(module, inputs):
        made.append(litz.backend_entry(module, inputs))
        return made[-1]

    backends = {"nothing": lambda module, inputs: lambda *arguments: arguments[:1], "litz": litz_kept, "inductor": "inductor"}
    for name in ("eager", "nothing", "litz", "litz_alone", "inductor"):
        if name == "litz_alone":
            call = made[0]
        else:
            torch._dynamo.reset()
            call = torch.compile(function, backend=backends[name]) if name in backends else function
        with torch.no_grad():
            for _ in range(200):
                call(x)
            rounds = []
            for _ in range(15):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(200):
                    call(x)
                rounds.append((time.perf_counter() - start) / 200 * 1e6)
                torch.cuda.synchronize()
        times[name] = min(rounds)
    return dict(name="one_kernel_call_us", **times)


def model_on_gpu(name):
    """The model and its inputs, in bfloat16, with the same weights every time."""
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    fill_zeros(module)
    return cast(module.cuda().eval(), inputs, BF16)


def run_model(name, with_peer, with_graphs):
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    module, inputs = model_on_gpu(name)

    @torch.no_grad()
    def step(f, given=inputs):
        out = f(**given) if "x" not in given else f(given["x"])
        return out.logits if hasattr(out, "logits") else out

    eager = step(module)
    exact_module = copy.deepcopy(module).double()
    exact = step(exact_module, {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()})
    del exact_module
    row = dict(name=name, eager_error=relative_error(eager, exact))
    candidates = {"eager": lambda: step(module)}
    compilers = {"litz": dict(backend="litz", options={"fallback": "error"})}
    if with_peer:
        compilers["inductor"] = dict(backend="inductor")
    if with_graphs:
        compilers["litz_graphs"] = dict(backend="litz", mode="reduce-overhead")
        if with_peer:
            compilers["inductor_graphs"] = dict(backend="inductor", mode="reduce-overhead")
    compiled = {}
    for label, arguments in compilers.items():  # dynamo keeps the code of several backends beside each other
        torch.cuda.reset_peak_memory_stats()
        try:
            compiled[label] = torch.compile(module, **arguments)
            start = time.perf_counter()
            out = step(compiled[label])
            torch.cuda.synchronize()
            row[f"{label}_first_call_s"] = time.perf_counter() - start
            if label.endswith("_graphs"):
                for _ in range(3):
                    out = step(compiled[label])
            row[f"{label}_error"] = relative_error(out, exact)
            row[f"{label}_right"] = row[f"{label}_error"] <= 1.5 * row["eager_error"] + 2.0**-9
            if label == "litz_graphs":
                row["recording"] = {k: litz.last_report().get(k) for k in ("recordings", "copied_inputs", "not_recorded")}
            if label == "litz":
                report = litz.last_report()
                row.update({k: report[k] for k in ("kernels", "library_calls", "extern_calls", "stage_ms", "total_ms")})
                row["strides_agree"] = out.stride() == eager.stride()
            torch.cuda.reset_peak_memory_stats()
            step(compiled[label])
            row[f"{label}_peak_bytes"] = torch.cuda.max_memory_allocated()
            candidates[label] = lambda f=compiled[label]: step(f)
        except Exception as error:
            traceback.print_exc()
            row[f"{label}_failed"] = repr(error)[:1500]
    del exact, out
    for label, ms in take_turns(candidates, rounds=20).items():
        row[f"{label}_ms"] = ms
    for label, call in candidates.items():
        if label.endswith("_graphs"):
            continue
        row[f"{label}_gpu_ms"], row[f"{label}_top_kernels"] = gpu_time(call)
    return row


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def table(path):
    """The models of a results file as Markdown."""
    with open(path) as file:
        result = json.load(file)
    columns = [("eager_ms", "eager"), ("inductor_ms", "TorchInductor"), ("litz_ms", "Litz"), ("inductor_graphs_ms", "TorchInductor, graphs"),
               ("litz_graphs_ms", "Litz, graphs"), ("inductor_gpu_ms", "TorchInductor, GPU"), ("litz_gpu_ms", "Litz, GPU"),
               ("inductor_first_call_s", "TorchInductor, first call"), ("litz_first_call_s", "Litz, first call")]  # fmt: skip
    show = lambda value, key: "" if value is None else f"{value:.1f} s" if key.endswith("_s") else f"{value:.2f}"
    lines = ["| model | " + " | ".join(title for _, title in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in result["models"]:
        lines.append(f"| {row['name']} | " + " | ".join(show(row.get(key), key) for key, _ in columns) + " |")
    head = f"{result['gpu']}, torch {result['torch']}, triton {result['triton']}, bfloat16, ms a call:"
    return "\n".join([head, "", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="bench_cuda.json")
    parser.add_argument("--budget", type=float, default=540, help="seconds after which no further row is started")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--no-graphs", action="store_true", help="leave mode=reduce-overhead out")
    parser.add_argument("--bandwidth", action="store_true", help="also memory-bound programs against the bandwidth of a copy")
    parser.add_argument("--no-peer", action="store_true", help="leave TorchInductor out")
    parser.add_argument("--table", metavar="FILE", help="print a results file as Markdown and measure nothing")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return 0
    start = time.perf_counter()
    result = dict(machine.describe_gpu(), units=[], models=[])

    def record(section, name, run):
        if time.perf_counter() - start > options.budget:
            row = dict(name=name, skipped=True)
        else:
            try:
                row = run()
            except Exception as error:
                traceback.print_exc()
                row = dict(name=name, failed=repr(error)[:2500])
        result[section].append(row)
        short = {k: v for k, v in row.items() if not k.endswith("top_kernels")}
        print(json.dumps(short), flush=True)
        rows = [r for r in result["models"] if "litz_ms" in r]
        ratios = {"graphs_over_inductor_graphs": ("inductor_graphs_ms", "litz_graphs_ms"), "gpu_time_over_inductor": ("inductor_gpu_ms", "litz_gpu_ms"),
                  "first_call_over_inductor": ("inductor_first_call_s", "litz_first_call_s")}  # fmt: skip
        for key, (peer, own) in ratios.items():
            result[key] = geometric_mean(r[peer] / r[own] for r in rows if peer in r and own in r)
        result["speed_over_eager"] = geometric_mean(r["eager_ms"] / r["litz_ms"] for r in rows)
        result["speed_over_inductor"] = geometric_mean(r["inductor_ms"] / r["litz_ms"] for r in rows if "inductor_ms" in r)
        machine.save(result, options.out)

    for name in filter(None, options.units.split(",")):
        record("units", name, lambda: run_unit(name))
    if options.units:
        record("units", "one_kernel_call_us", one_kernel_calls)
    if options.bandwidth:
        record("units", "bandwidth", lambda: dict(name="bandwidth", **bandwidth.measure()))
    for name in filter(None, options.models.split(",")):
        record("models", name, lambda: run_model(name, not options.no_peer, not options.no_graphs))
    print({key: value for key, value in result.items() if "over_" in key})
    return 0


if __name__ == "__main__":
    sys.exit(main())
