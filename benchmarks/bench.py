#!/usr/bin/env python3
"""Measures Litz on the twelve models, beside eager and TorchInductor.

Every measurement runs in a process of its own. Results are written after each one, so that a run that is cut short
keeps what it has: a JSON file in `results/`, and with `--write-docs` the tables of `docs/benchmarks.md`.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[0] = str(HERE.parent)  # the modules of this folder are the package `benchmarks`

from benchmarks import machine, table  # noqa: E402
from benchmarks.backends import available  # noqa: E402
from benchmarks.models import MODELS  # noqa: E402

SECTIONS = ("speed", "first-call", "right", "memory", "kernels", "call", "instructions")
_MARK = "RESULT "


def run_child(section: str, case: dict, timeout: float) -> dict:
    """What `measure(**case)` of `section` gives, run in a fresh process; a failure is a row with its last words."""
    command = [sys.executable, str(HERE / "bench.py"), "--child", section, json.dumps(case)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {**case, "failed": f"no result after {timeout:.0f} s"}
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return {**case, **json.loads(line[len(_MARK):])}
    return {**case, "failed": (done.stderr or done.stdout)[-1500:]}


def child(section: str, case: dict) -> None:
    module = importlib.import_module("benchmarks." + section.replace("-", "_"))
    print(_MARK + json.dumps(module.measure(**case)), flush=True)


def median_of(rows: list[dict], key: str) -> dict:
    """The first good row of a repeated measurement with the median of `key` and all values beside it."""
    good = [row for row in rows if key in row]
    if not good:
        return rows[0]
    values = [row[key] for row in good]
    middle = min(good, key=lambda row: abs(row[key] - statistics.median(values)))
    return {**middle, key: statistics.median(values), "all_" + key: values}


def measurements(section: str, options: argparse.Namespace):
    """The rows of one section, as they become ready."""
    measured = [b for b in options.backends if b not in ("eager", "aot_eager")]
    run = lambda case: run_child(section, case, options.timeout)
    if section == "call":
        yield run({"backends": [*measured, "aot_eager"]})
        return
    if section == "instructions":
        for model in options.models if "litz" in measured else []:
            yield run({"model": model})
        return
    for dtype in options.first_call_dtypes if section == "first-call" else options.dtypes:
        for model in options.models:
            case = {"model": model, "dtype": dtype}
            if section == "speed":
                # Its process has compiled everything that the memory section needs: that section comes with it.
                yield run({**case, "backends": measured, "seconds": 5.0 if options.quick else 15.0, "memory": "memory" in options.only})
            elif section == "memory":
                yield run({**case, "backends": measured})
            elif section == "kernels":
                for backend in measured:
                    yield run({**case, "backend": backend})
            elif section == "right":
                for backend in measured if options.peer_right or "litz" not in measured else ["litz"]:
                    row = run({**case, "backend": backend, "seeds": 1 if options.quick else 3})
                    for shapes in row.pop("rows", [{"dynamic": False}]):
                        yield {**row, **shapes}
            elif section == "first-call":
                # Repetitions go round the backends, so that a slow spell of the machine meets them all.
                backends = ["aot_eager", *measured]
                rows: dict[str, list[dict]] = {b: [] for b in backends}
                for repetition in range(1 if options.quick else 3):
                    for backend in backends:
                        if backend == "inductor" and repetition >= options.peer_first_calls:
                            continue
                        rows[backend].append(run({**case, "backend": backend}))
                for backend in backends:
                    yield median_of(rows[backend], "seconds")


def main() -> int:
    names = lambda text: [part for part in text.split(",") if part]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=names, default=list(SECTIONS), help="sections, with commas: " + ",".join(SECTIONS))
    parser.add_argument("--models", type=names, default=list(MODELS), help="models, with commas")
    parser.add_argument("--dtypes", type=names, default=["float32", "bfloat16"], help="float32,bfloat16")
    parser.add_argument("--first-call-dtypes", type=names, default=["float32"], help="dtypes whose first calls are measured")
    parser.add_argument("--backends", type=names, default=["inductor", "litz"], help="compilers beside eager, with commas")
    parser.add_argument("--quick", action="store_true", help="one repetition of each first call, one seed, shorter timing")
    parser.add_argument("--peer-right", action="store_true", help="check the answers of every backend, not of litz alone")
    parser.add_argument("--peer-first-calls", type=int, default=3, help="most repetitions of TorchInductor's first calls (1 to 3)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds after which a measurement is given up")
    parser.add_argument("--out", type=Path, help="the JSON file to write (default: results/DATE.json)")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--child", nargs=2, metavar=("SECTION", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], json.loads(options.child[1]))
        return 0
    for name, chosen, known in (("section", options.only, SECTIONS), ("model", options.models, MODELS)):
        for wrong in [c for c in chosen if c not in known]:
            parser.error(f"no {name} is called {wrong}; expected one of {', '.join(known)}")
    for missing in [b for b in options.backends if not available(b)]:
        print(f"{missing} is not installed here: left out", file=sys.stderr)
        options.backends.remove(missing)

    head = machine.describe()
    result = {**head, "command": "benchmarks/bench.py " + " ".join(sys.argv[1:]), "sections": {}}
    out = options.out or HERE / "results" / (head["date"][:16].replace(":", "") + ".json")
    out.parent.mkdir(parents=True, exist_ok=True)
    for section in options.only:
        if section == "memory" and "speed" in options.only:
            continue
        rows = result["sections"].setdefault(section, [])
        for row in measurements(section, options):
            memory = row.pop("memory", None)
            if isinstance(memory, dict):
                result["sections"].setdefault("memory", []).append({"model": row["model"], "dtype": row["dtype"], **memory})
            rows.append(row)
            print(f"{section}: {table.one_line(section, row)}", flush=True)
            out.write_text(json.dumps(result, indent=1) + "\n")
    text = table.markdown(result)
    print("\n" + text)
    if options.write_docs:
        table.write_document(HERE.parent / "docs" / "benchmarks.md", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
