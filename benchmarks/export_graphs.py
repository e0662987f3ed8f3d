"""Writes the graphs of the twelve models, as Litz imports them, to a folder: the input of the instruction budgets.

    python -m benchmarks.export_graphs OUT [model ...] [--small]

A node's source keeps the file, below site-packages, and the line: the texts are the same on every machine and quote no one's code.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import tempfile

import torch

from benchmarks.models import MODELS, build


def export(model: str, small: bool) -> str:
    """The imported graph of one model's inference call, as text."""
    torch._dynamo.reset()
    module, inputs = build(model, small=small)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        torch.compile(module, backend="litz", options={"dump": folder, "fallback": "error"})(**inputs)
        text = (pathlib.Path(folder) / "00-import.ir").read_text()
    text = re.sub(r"(# ).*?/(?:site-packages|torch)/", r"\1", text)
    return re.sub(r"(?m)(  # [^:\n]+:\d+): .*$", r"\1", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model in arguments.models:
        path = arguments.out / f"{model}.ir"
        path.write_text(export(model, arguments.small))
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
