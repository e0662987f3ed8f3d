"""Result files as Markdown, and what each target of the benchmark says about them."""
from __future__ import annotations

import json
import math
import sys
from pathlib import Path

CAPTURE_ALLOWANCE_S = 1.5
SLOWEST_SPEEDUP = 0.97
CALL_ALLOWANCE_US = 1.5
MEMORY_ALLOWANCE = 1.05
LITZ_OWN_MS = 150.0


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def _millions(count: int | None) -> str:
    return "none" if count is None else f"{count / 1e6:.1f}"


def one_line(section: str, row: dict) -> str:
    """A row while it runs."""
    name = " ".join(str(row[k]) for k in ("model", "dtype", "backend") if k in row) + (" dynamic" if row.get("dynamic") else "")
    if row.get("failed") and not isinstance(row["failed"], dict):
        return f"{name} failed: {row['failed'].strip().splitlines()[-1] if row['failed'].strip() else 'no message'}"
    if section == "speed":
        shown = ", ".join(f"{b} {ms:.1f} ms" for b, ms in row["ms"].items()) + "".join(f"; {b}: {e}" for b, e in row["failed"].items())
    elif section == "first-call":
        shown = f"{row['seconds']:.2f} s"
    elif section == "right":
        worst = max((o for seed in row["outputs"] for o in seed), key=lambda o: o["error"])
        shown = f"{'right' if row['right'] else 'WRONG'}, worst error {worst['error']:.2e} (eager {worst['eager_error']:.2e}), {row['graphs']} graph(s)"
    elif section == "memory":
        shown = ", ".join(f"{b} {p / 2**20:.1f} MiB" for b, p in row["peak_bytes"].items())
    elif section == "kernels":
        shown = f"{row['kernels']} kernels, {row['bytes'] / 1e6:.1f} MB, library {row['library_calls']}, extern {row['extern_calls']}"
    elif section == "instructions":
        shown = f"{_millions(row['instructions'])} million instructions, budget {_millions(row['budget'])}"
    else:
        shown = ", ".join(f"{b} {us:.2f} us" for b, us in row["us"].items())
    return f"{name} {shown}".strip()


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _good(rows: list[dict]) -> list[dict]:
    return [r for r in rows if not r.get("failed") or isinstance(r["failed"], dict)]


def _speed(rows: list[dict], dtype: str) -> str:
    rows = [r for r in _good(rows) if r["dtype"] == dtype]
    backends = sorted({b for r in rows for b in r["speedup"]})
    cell = lambda r, b: f"{r['ms'][b]:.1f} | {r['speedup'][b]:.2f}" if b in r["ms"] else "failed | "
    body = [[r["model"], f"{r['ms']['eager']:.1f}", *(cell(r, b) for b in backends)] for r in rows]
    means = [geometric_mean([r["speedup"][b] for r in rows if b in r["speedup"]]) for b in backends]
    body.append(["geometric mean", "", *(f" | {m:.3f}" for m in means)])
    columns = ["model", "eager ms"] + [c for b in backends for c in (f"{b} ms", "x eager")]
    text = _table(columns, body)
    if "litz" in backends:
        slow = [r["model"] for r in rows if r["speedup"].get("litz", 0) < SLOWEST_SPEEDUP]
        text += f"\n\nUnder {SLOWEST_SPEEDUP}x eager: {', '.join(slow) or 'none'}."
    return text


def _first_call(rows: list[dict], dtype: str) -> str:
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, float] = {}
    for r in _good(rows):
        if r["dtype"] == dtype:
            seconds.setdefault(r["model"], {})[r["backend"]] = r["seconds"]
            if "stage_ms" in r:
                own[r["model"]] = sum(ms for stage, ms in r["stage_ms"].items() if stage != "compile_kernels")
    backends = sorted({b for s in seconds.values() for b in s})
    body = [[m, *(f"{s[b]:.2f}" if b in s else "failed" for b in backends),
             f"{s['litz'] - s['aot_eager']:.2f}" if {"litz", "aot_eager"} <= s.keys() else "",
             f"{own[m]:.0f}" if m in own else ""] for m, s in seconds.items()]
    text = _table(["model", *(f"{b} s" for b in backends), "litz over capture s", "litz's own ms"], body)
    if "litz" in backends:
        late = [m for m, s in seconds.items() if s.get("litz", math.inf) > s.get("aot_eager", 0) + CAPTURE_ALLOWANCE_S]
        heavy = [m for m, ms in own.items() if ms > LITZ_OWN_MS]
        text += f"\n\nOver capture + {CAPTURE_ALLOWANCE_S} s: {', '.join(late) or 'none'}. Over {LITZ_OWN_MS:.0f} ms of its own: {', '.join(heavy) or 'none'}."
    return text


def _right(rows: list[dict], dtype: str) -> str:
    body = []
    for r in rows:
        if r["dtype"] != dtype:
            continue
        name = [r["model"], r["backend"], "dynamic" if r["dynamic"] else "static"]
        if "outputs" not in r:
            body.append([*name, "failed", "", "", ""])
            continue
        worst = max((o for seed in r["outputs"] for o in seed), key=lambda o: o["error"])
        strides = all(o["same_strides"] for seed in r["outputs"] for o in seed)
        body.append([*name, "yes" if r["right"] else "NO", f"{worst['error']:.2e}", f"{worst['eager_error']:.2e}", "yes" if strides else "NO"])
    return _table(["model", "backend", "shapes", "right", "worst error", "eager's", "eager's strides"], body)


def _memory(rows: list[dict], dtype: str) -> str:
    rows = [r for r in _good(rows) if r["dtype"] == dtype]
    backends = sorted({b for r in rows for b in r["over_eager"]})
    body = [[r["model"], f"{r['peak_bytes']['eager'] / 2**20:.1f}", *(f"{r['over_eager'].get(b, math.nan):.3f}" for b in backends)] for r in rows]
    text = _table(["model", "eager peak MiB", *(f"{b} / eager" for b in backends)], body)
    if "litz" in backends:
        over = [r["model"] for r in rows if not r["over_eager"].get("litz", math.inf) <= MEMORY_ALLOWANCE]
        text += f"\n\nOver {MEMORY_ALLOWANCE} times eager: {', '.join(over) or 'none'}."
    return text


def _kernels(rows: list[dict], dtype: str) -> str:
    models: dict[str, dict[str, dict]] = {}
    for r in _good(rows):
        if r["dtype"] == dtype:
            models.setdefault(r["model"], {})[r["backend"]] = r
    backends = sorted({b for m in models.values() for b in m})
    count = lambda calls: str(sum(calls.values()) if isinstance(calls, dict) else len(calls) if isinstance(calls, list) else calls)
    body = []
    for model, m in models.items():
        line = [model]
        for b in backends:
            line += [str(m[b]["kernels"]), f"{m[b]['bytes'] / 1e6:.1f}", count(m[b]["library_calls"]), count(m[b]["extern_calls"])] if b in m else ["failed", "", "", ""]
        body.append(line)
    columns = ["model"] + [f"{b} {c}" for b in backends for c in ("kernels", "MB", "library", "extern")]
    text = _table(columns, body)
    if {"litz", "inductor"} <= set(backends):
        both = {n: m for n, m in models.items() if {"litz", "inductor"} <= m.keys()}
        more = [n for n, m in both.items() if m["litz"]["kernels"] > m["inductor"]["kernels"] + int(count(m["inductor"]["extern_calls"]))]
        bytes_over = [n for n, m in both.items() if m["litz"]["bytes"] > m["inductor"]["bytes"]]
        text += f"\n\nMore kernels than TorchInductor: {', '.join(more) or 'none'}. More bytes: {', '.join(bytes_over) or 'none'}."
    return text


def _call(rows: list[dict]) -> str:
    row = rows[0]
    if "us" not in row:
        return "failed"
    body = [[b, f"{us:.2f}", f"{us - row['us']['nothing']:.2f}"] for b, us in row["us"].items()]
    return _table(["backend", "us a call", "over a backend that does nothing"], body) + f"\n\nAllowed for Litz: {CALL_ALLOWANCE_US} us."


def _instructions(rows: list[dict]) -> str:
    body = [[r["model"], _millions(r["instructions"]), _millions(r["budget"])] for r in _good(rows)]
    over = [r["model"] for r in _good(rows) if r["budget"] and r["instructions"] > r["budget"]]
    return _table(["model", "million instructions", "budget"], body) + f"\n\nOver the budget: {', '.join(over) or 'none'}."


_TITLES = {
    "speed": "Speed (medians, interleaved in one process)", "first-call": "First call (fresh process, empty caches)",
    "right": "Right (relative L2 error against float64)", "memory": "Peak memory of a call",
    "kernels": "Kernels and bytes moved",
}


def markdown(result: dict) -> str:
    """All sections of one result file."""
    versions = ", ".join(f"{p} {v}" for p, v in result["versions"].items() if v)
    parts = [f"{result['cpu']}, {result['cores']} cores ({', '.join(result['cpu_features'])}), {result['memory_gib']} GiB; "
             f"Python {result['python']}, {versions}; commit {result['commit']}, {result['date']}; `{result['command']}`"]
    writers = {"speed": _speed, "first-call": _first_call, "right": _right, "memory": _memory, "kernels": _kernels}
    for section, rows in result["sections"].items():
        if section == "call":
            parts += ["## One-kernel call", _call(rows)]
            continue
        if section == "instructions":
            parts += ["## Instructions of a compile (imported graph to wrapper IR)", _instructions(rows)]
            continue
        for dtype in dict.fromkeys(r["dtype"] for r in rows):
            parts += [f"## {_TITLES[section]}: {dtype}", writers[section](rows, dtype)]
    return "\n\n".join(parts) + "\n"


def write_document(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Benchmarks\n\nWritten by `./dev bench --write-docs`; the figures behind it are in `benchmarks/results/`.\n\n" + text)


if __name__ == "__main__":  # table.py RESULT.json...: prints the tables of files written before
    for name in sys.argv[1:]:
        print(markdown(json.loads(Path(name).read_text())))
