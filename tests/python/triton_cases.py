"""Runs or compiles the cases of test_triton_codegen.py: triton_cases.py interpret|compile|order FOLDER [TARGET...]. The last line of the output
is a JSON object: what failed, and how.

The wrapper's text is read by a small interpreter of its own, so that the sources are run as the executor would run them.
"""

import json
import os
import re
import sys
import tempfile
from functools import partial

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "litz"))
import triton_worker as worker  # noqa: E402  (it knows how generated source is loaded)

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8, "i8": torch.int8,
    "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool,
}  # fmt: skip


def split_sources(text):
    """The modules of a level's text, each ending with its LAUNCH line."""
    parts, current = [], []
    for line in text.splitlines():
        current.append(line)
        if line.startswith("LAUNCH = "):
            parts.append("\n".join(current) + "\n")
            current = []
    return parts


def numbers(text):
    return [int(x) for x in text.split(",") if x.strip()]


DECLARED = re.compile(r"(%\S+) : (\w+) \[(.*?)\] strides \[(.*?)\](?: offset (\d+))? \S+")


def declared(text):
    name, dtype, sizes, strides, offset = DECLARED.search(text).groups()
    return name, DTYPES[dtype], numbers(sizes), numbers(strides), int(offset or 0)


def interpret(case, folder):
    kernels = [worker.load_source(s, folder).LAUNCH for s in split_sources(case["source"])]
    tensors, inputs, outputs = {}, list(case["inputs"]), None
    error = torch.zeros(3, dtype=torch.int64)
    counter = torch.zeros(1, dtype=torch.int32)
    for line in case["wrapper"].splitlines()[1:]:
        line = line.strip()
        word, _, rest = line.partition(" ")
        if word == "input":
            name, dtype, sizes, strides, offset = declared(rest)
            given = inputs.pop(0)
            assert list(given.shape) == sizes and given.dtype == dtype, line
            tensors[name] = given
        elif word == "alloc":
            name, dtype, sizes, strides, _ = declared(rest)
            tensors[name] = torch.empty_strided(sizes, strides, dtype=dtype)
        elif word == "view":
            name, dtype, sizes, strides, offset = declared(rest)
            base = re.search(r"of (%\S+)", rest).group(1)
            tensors[name] = tensors[base].as_strided(sizes, strides, offset)
        elif word == "call":
            index, arguments, grid = parse_call(rest, case)
            launch = kernels[index]
            if launch.get("is_cooperative"):
                grid = 1  # programs run one after the other here: they must not wait for each other
            extra = [error] if launch["reports_errors"] else []
            if launch.get("counts_programs"):
                extra.append(counter)
            launch["kernel"][(grid,)](*[tensors[a] for a in arguments], *extra)
            assert int(counter) == 0, f"the counter is {int(counter)} behind {line}"
        elif word == "extern" and "= aten.randint.low(" in rest:
            name, dtype, sizes, strides, _ = declared(rest)
            tensors[name] = torch.full(sizes, case["seed"], dtype=dtype)
        elif word == "return":
            outputs = [tensors[x.strip()] for x in rest.split(",")]
        elif word not in ("kernel", "free", "#", "schema"):
            raise AssertionError(f"the case has a line that this runner does not know: {line}")
    assert int(error[0]) == 0, "a kernel reported an error"
    return outputs


def parse_call(text, case):
    match = re.match(r"(\w+)\((.*?);.*?\)( range .*)", text)
    name, arguments, rest = match.groups()
    names = re.findall(r"^def (\w+)\(", case["source"], re.M)
    return names.index(name), [a.strip() for a in arguments.split(",") if a.strip().startswith("%")], int(re.search(r"range (\d+)", rest).group(1))


def check(case, folder):
    wanted = case["expected"] if isinstance(case["expected"], tuple) else (case["expected"],)
    differences = [compare(actual, expected) for actual, expected in zip(interpret(case, folder), wanted, strict=True)]
    return next(filter(None, differences), None)


def compare(actual, expected):
    if not expected.dtype.is_floating_point:
        return None if torch.equal(actual, expected) else f"differs: {actual.flatten()[:8]} instead of {expected.flatten()[:8]}"
    tolerance = {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(expected.dtype, 3e-5)
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return None


def check_order(source, target, modules):
    """Programs that count themselves do so with release and acquire, and read nothing through the path for what no kernel writes."""
    launch = worker.load_source(source, modules).LAUNCH
    if not launch.get("counts_programs"):
        return "no program counts itself"
    text = worker.compile_kernel(launch, target, True).asm["ptx"]
    if ".acq_rel" not in text or "bar.sync" not in text:
        return f"nothing orders what programs write and read:\n{text}"
    return "loads of read-only memory" if "ld.global.nc" in text or "ldu.global" in text else None


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[-1500:]}"


def main(mode, folder, targets):
    worker.load_ops()
    failures = {}
    with tempfile.TemporaryDirectory() as modules:
        for name in sorted(os.listdir(folder)):
            case = torch.load(os.path.join(folder, name), weights_only=False)
            if mode == "interpret":
                if failure := attempt(check, case, modules):
                    failures[name] = failure
                continue
            for source in split_sources(case["source"]):
                for target in targets:
                    function = partial(check_order, source, target, modules) if mode == "order" else partial(worker.compile_source, source, target, True, modules)
                    if isinstance(failure := attempt(function), str):
                        failures[f"{name} {target}"] = failure
    print(json.dumps(failures))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
