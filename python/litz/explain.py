"""litz.explain: what became of a model, as text."""

import collections

import torch
import torch._dynamo


def explain(model, *args, options=None, **kwargs):
    """Compiles `model` for these arguments and tells what it became: an Explanation, whose str() is the report. The model runs once."""
    from litz import backend

    reports = []

    def entry(gm, example_inputs):
        before = list(backend._reports)  # only the latest are kept
        made = backend.backend_entry(gm, example_inputs, options=options)
        reports.extend(r for r in backend._reports if not any(r is old for old in before))
        return made

    torch._dynamo.reset()
    before = collections.Counter(torch._dynamo.utils.counters["graph_break"])
    torch.compile(model, backend=entry)(*args, **kwargs)
    breaks = torch._dynamo.utils.counters["graph_break"] - before
    return Explanation(reports, list(breaks.elements()))


class Explanation:
    """`reports`: a dict per compiled graph, as litz.last_report(); `graph_breaks`: Dynamo's reasons."""

    def __init__(self, reports, graph_breaks):
        self.reports, self.graph_breaks = reports, graph_breaks

    def total(self, what):
        return sum(sum(r[what].values()) if isinstance(r[what], dict) else r[what] for r in self.reports)

    def __str__(self):
        lines = [f"graphs: {len(self.reports)}, graph breaks: {len(self.graph_breaks)}"]
        lines += [f"  break: {reason.splitlines()[0]}" for reason in self.graph_breaks]
        for r in self.reports:
            lines.append(f"{r['name']}: {r['kernels']} kernels, {_counts(r['library_calls'])} library calls, {_counts(r['extern_calls'])} extern calls, "
                         f"{r['bytes_read']} bytes read, {r['bytes_written']} bytes written")  # fmt: skip
            for what in ("library_calls", "extern_calls"):
                lines += [f"  {what[:-6]}: {op} x{count}" for op, count in sorted(r[what].items())]
            lines += [f"  {note}" for note in r["notes"]]
            lines += [f"  runs eagerly: {reason}" for reason in r["fallbacks"]]
            lines += [f"  not fused: {reason}" for reason in dict.fromkeys(r["refusals"])]
            lines += [f"  {stage}: {ms:.2f} ms" for stage, ms in r["stage_ms"].items()]
            lines += [f"  generated: {path}" for path in r["cpp_paths"]]
        return "\n".join(lines)


def _counts(calls):
    return sum(calls.values())
