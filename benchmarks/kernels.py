"""How many kernels a model became and how many bytes they move, by each compiler's own count."""
from __future__ import annotations

import collections
import logging
import re

from benchmarks.backends import compile_with, litz_report, use_empty_caches

LIBRARY_CALLS = re.compile(r"(^|\.)(mm|addmm|bmm|baddbmm|_?convolution\w*|mkldnn_\w*conv\w*|_linear_pointwise|_scaled_dot_product\w*)(\.|$)")


def _inductor(module, inputs) -> dict:
    """TorchInductor's own counts; its metrics log must be on, or it does not count bytes."""
    import torch
    from torch._inductor import metrics
    from torch._inductor.utils import run_and_get_code

    torch._logging.set_logs(inductor_metrics=True)
    logging.getLogger("torch").handlers.clear()  # its log need not be printed to be counted
    metrics.reset()
    _, sources = run_and_get_code(compile_with("inductor", module), **inputs)
    calls: collections.Counter = collections.Counter()
    for source in sources:
        for line in source.splitlines():
            found = re.search(r"(?:extern_kernels|torch\.ops)\.([\w.]+)\(", line)
            if found and "import" not in line and not line.startswith(("#", "def ")):
                calls[found.group(1)] += 1
    return {
        "kernels": metrics.generated_kernel_count, "bytes": metrics.num_bytes_accessed,
        "library_calls": {n: c for n, c in calls.items() if LIBRARY_CALLS.search(n)},
        "extern_calls": {n: c for n, c in calls.items() if not LIBRARY_CALLS.search(n)},
        "extern_calls_counted": torch._dynamo.utils.counters["inductor"]["extern_calls"],
    }


def _litz(module, inputs) -> dict:
    compile_with("litz", module)(**inputs)
    report = litz_report()
    return {
        "kernels": report["kernels"], "bytes": report["bytes_read"] + report["bytes_written"],
        "library_calls": report["library_calls"], "extern_calls": report["extern_calls"],
        "fallbacks": report["fallbacks"], "stage_ms": report["stage_ms"],
    }


def measure(model: str, dtype: str, backend: str) -> dict:
    """The counts of one fresh compile by `backend` (`inductor` or `litz`)."""
    use_empty_caches()
    import torch

    from benchmarks.models import build, cast

    module, inputs = cast(*build(model), getattr(torch, dtype))
    with torch.no_grad():
        return {"inductor": _inductor, "litz": _litz}[backend](module, inputs)
