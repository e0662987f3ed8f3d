"""Run by test_products.py: `interpret` runs candidates on CPU tensors in Triton's interpreter and compares each with float64; a target
such as cuda:90 compiles them. Requests come as JSON on stdin, failures go as JSON to stdout."""

import json
import os
import re
import sys
import tempfile

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/litz"))
import triton_worker  # noqa: E402

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def interpretable(source):
    """The interpreter's tl.dot multiplies the bits of bfloat16 as integers; products of narrow floats are exact in float32."""
    return re.sub(r"tl\.dot\((\w+), (\w+), ", r"tl.dot(\1.to(tl.float32), \2.to(tl.float32), ", source)


def run(request, folder):
    """Results of the library's way, and of the first tile of each kind: with the factors computed before it or in it, with pointers or
    descriptors (and with those, for addresses that have none); and what is exact."""
    torch.manual_seed(0)
    tensors = []
    for dtype, sizes, strides in request["tensors"]:
        t = torch.empty_strided(sizes, strides, dtype=DTYPES[dtype])
        tensors.append(t.copy_(torch.randn(sizes) / (sizes[-1] ** 0.5 if len(sizes) > 1 else 1)))
    first = request["candidates"][0]
    written = last_written(first)
    exact = library([t.double() for t in tensors], first, folder)
    results = {}
    others = request["candidates"][1:]
    kinds = {("computed" in c["name"], "descriptors" in c["name"], "XPIECE" in c["steps"][-1]["source"]): c for c in reversed(others)}
    computed = {step["tensors"][-1] for step in first["steps"][:-1] if "source" in step}
    ways = [(c, {}) for c in (first, *kinds.values())] + [(c, {"ALIGNED": False}) for c in kinds.values() if "descriptors" in c["name"]]
    for candidate, given in ways:
        for number in (written, *computed):
            tensors[number].fill_(float("nan"))
        for step in candidate["steps"]:
            if "call" in step:
                views = [tensors[t].as_strided(sizes, strides, offset) for t, sizes, strides, offset in step["views"]]
                getattr(torch.ops.aten, step["call"].removeprefix("aten.")).out(*views, out=tensors[step["out"]])
            else:
                launch = triton_worker.load_source(interpretable(step["source"]), folder).LAUNCH
                known = {k: v for k, v in given.items() if k in launch["kernel"].arg_names}
                launch["kernel"][(step["range"],)](*[tensors[t] for t in step["tensors"]], **known)
        results[candidate["name"] + str(given or "")] = tensors[written].double().clone()
    return results, exact


def last_written(candidate):
    """The tensor that the last step writes: kernels name what they write last."""
    last = candidate["steps"][-1]
    return last["out"] if "call" in last else last["writes"][-1]


def library(tensors, candidate, folder):
    """Every step in float32 or wider: nothing is rounded to narrow floats between."""
    wide = [t.float() for t in tensors]
    for step in candidate["steps"]:
        if "call" in step:
            views = [wide[t].double().as_strided(sizes, strides, offset) for t, sizes, strides, offset in step["views"]]
            exact = getattr(torch, step["call"].removeprefix("aten."))(*views)
            wide[step["out"]] = torch.empty_strided(exact.shape, tensors[step["out"]].stride()).copy_(exact)
            continue
        source = step["source"].replace("tl.bfloat16", "tl.float32").replace("tl.float16", "tl.float32")
        launch = triton_worker.load_source(source, folder).LAUNCH
        launch["kernel"][(step["range"],)](*[wide[t] for t in step["tensors"]])
    return wide[last_written(candidate)].double()


def main(how):
    triton_worker.load_ops()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, request in json.load(sys.stdin).items():
            if how == "interpret":
                results, exact = run(request, folder)
                errors = {k: ((y - exact).norm() / exact.norm()).item() for k, y in results.items()}
                # The interpreter cuts narrow floats off where hardware rounds them.
                allowed = 1.1 * errors["library"] + torch.finfo(DTYPES[request["tensors"][0][0]]).eps / 4
                failures += [f"{name}: {k}: {e:.2e}, the library has {errors['library']:.2e}" for k, e in errors.items() if not e <= allowed]
                continue
            for candidate in request["candidates"][1:]:
                try:
                    has_descriptors = "descriptors" in candidate["name"]
                    if has_descriptors and how == "cuda:80":
                        continue  # not offered there
                    for aligned in (True, False) if has_descriptors else (True,):
                        image, facts = triton_worker.compile_source(candidate["steps"][-1]["source"], how, aligned, folder)
                        if not image or facts[1] > 227 << 10:
                            failures.append(f"{name}: {candidate['name']}: {facts[1]} bytes of shared memory")
                        if (facts[3] > 0) != (has_descriptors and aligned):
                            failures.append(f"{name}: {candidate['name']}: {facts[3]} bytes of scratch, aligned {aligned}")
                except Exception as error:
                    if "out of resource" not in str(error):
                        failures.append(f"{name}: {candidate['name']}: {type(error).__name__}: {str(error)[:300]}")
    json.dump(failures, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
