"""LITZ_LOG: what Litz says while it compiles, to the standard error stream. A list of topics separated by commas: `stages` (times),
`graph` (the imported graph), `program` (the lines of the wrapper program), `report`, or `all`."""

import json
import os
import sys

TOPICS = ("stages", "graph", "program", "report")


def wants(topic):
    chosen = os.environ.get("LITZ_LOG", "").split(",")
    return topic in chosen or "all" in chosen


def compiled(report, graph_text, program):
    if not os.environ.get("LITZ_LOG"):
        return
    if graph_text:
        _say(graph_text)
    if wants("program"):
        _say(program.text())
    if wants("stages"):
        stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in report["stage_ms"].items())
        for note in report["notes"]:
            _say(f"{report['name']}: {note}")
        _say(f"{report['name']}: {report['kernels']} kernels, {sum(report['library_calls'].values())} library calls, "
             f"{sum(report['extern_calls'].values())} extern calls; ms: {stages}; total {report['total_ms']:.2f}")  # fmt: skip
    if wants("report"):
        _say(json.dumps(report, indent=1))


def not_recorded(name, reason):
    """Why a graph under mode=reduce-overhead is not recorded."""
    if wants("report"):
        _say(f"{name} is not recorded: {reason}")


def _say(text):
    print("litz:", text, file=sys.stderr)
