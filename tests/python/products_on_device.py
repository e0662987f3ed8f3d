"""Run by hand on a machine with a GPU: `python tests/python/products_on_device.py [NAME ...]`. Every candidate of the programs of
test_products.py (the library's call, tiles, tiles with computed factors, tiles with descriptors) is run on random data and compared with
the library's way; then the compiled program, with the inputs at addresses with and without 16 bytes of alignment, with eager."""

import json
import os
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import litz  # noqa: E402, I001  (before the tests, which look for a tree that is built)
from litz import _C, backend, measure  # noqa: E402
from test_products import PROGRAMS  # noqa: E402

ALLOWED = 2e-2  # of two ways to round 16-bit floats


def relative(got, wanted):
    return ((got.double() - wanted.double()).norm() / wanted.double().norm().clamp_min(1e-12)).item()


def candidate_errors(parsed):
    """name -> the relative difference of the last result from the library's; or what went wrong."""
    bench, errors, wanted = measure._Bench(parsed), {}, None
    with tempfile.TemporaryDirectory() as folder:
        for candidate in parsed["candidates"]:
            results = {t: bench.tensors[t] for t in measure.written(candidate["steps"][-1])}
            for tensor in results.values():
                tensor.fill_(float("nan"))
            try:
                measure.with_scratch(parsed["device"], lambda c=candidate, b=bench: [b.step(s, folder)() for s in c["steps"]])
                torch.cuda.synchronize()
            except Exception as error:
                errors[candidate["name"]] = f"{type(error).__name__}: {str(error)[:100]}"
                continue
            if candidate is parsed["candidates"][0]:
                wanted = {t: tensor.clone() for t, tensor in results.items()}
            if wanted is None or results.keys() != wanted.keys():
                errors[candidate["name"]] = "nothing to compare it with"
                continue
            apart = [relative(results[t], wanted[t]) for t in wanted]
            errors[candidate["name"]] = next((e for e in apart if not e <= ALLOWED), max(apart))
    return errors


def shifted(tensor):
    """The same values at an address that is no multiple of 16 bytes."""
    whole = torch.empty(tensor.numel() + 8, dtype=tensor.dtype, device=tensor.device)
    return torch.as_strided(whole, tensor.shape, tensor.stride(), 1).copy_(tensor)


def check(name):
    function, make = PROGRAMS[name]
    inputs = [t.cuda() for t in make()]
    requests = []

    def measured(request):
        requests.append(json.loads(request))
        times = measure.measure(request)
        walked = [k for k, c in enumerate(requests[-1]["candidates"]) if "descriptors" in c["name"] and times[k] > 0]
        for k in walked[:1]:
            times[k] = 1e-3  # the compiled program takes descriptors where it can
        return times

    failures = []
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="litz", mode="max-autotune-no-cudagraphs")
    backend._let_candidates_be_measured()
    _C.set_measurer(measured)
    for way, given in (("aligned", inputs), ("shifted", [shifted(t) for t in inputs])):
        wanted, got = function(*given), compiled(*given)
        for g, w in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            error = relative(g, w)
            if not error <= ALLOWED:
                failures.append(f"{way}: {error:.1e}")
    kinds = 0
    for parsed in requests:
        errors = candidate_errors(parsed)
        kinds += len(errors)
        failures += [f"{k}: {e}" for k, e in errors.items() if not (isinstance(e, float) and e <= ALLOWED) and "out of resource" not in str(e)]
    chosen = [note for note in litz.last_report()["notes"] if note.startswith("choose_products")]
    return failures, kinds, chosen


def main(names):
    failed = 0
    with torch.no_grad():
        for name in names or PROGRAMS:
            try:
                failures, kinds, chosen = check(name)
            except Exception as error:
                failures, kinds, chosen = [f"{type(error).__name__}: {str(error)[:300]}"], 0, []
            failed += bool(failures)
            print("FAIL" if failures else "ok", name, f"{kinds} candidates", failures or "", chosen, flush=True)
    print(f"{failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
