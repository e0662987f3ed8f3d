"""Instructions that a compile takes from the imported graph to the wrapper program, counted by valgrind's callgrind: a measure of
Litz's own work that a loaded machine does not change. Capture and the compilation of generated code are outside."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import tempfile

ISA = "avx2"  # the count is that of a machine with these vectors and usual caches, wherever it is taken
ROOT = pathlib.Path(__file__).resolve().parents[1]


def _stripped_programs(folder: pathlib.Path) -> pathlib.Path:
    """Copies of the command and its libraries that callgrind can read: it knows no DWARF 5 of clang's."""
    package = ROOT / "python/litz"
    if not (package / "bin/litz").exists():
        raise FileNotFoundError("python/litz/bin/litz is not built; ./dev build makes it")
    libraries = [package / "liblitz.so", *(ROOT / "build/dev/lib").glob("*.so")]
    for source in [package / "bin/litz", *libraries]:
        subprocess.run(["strip", "--strip-debug", "-o", folder / source.name, source], check=True)
    return folder / "litz"


def measure(model: str) -> dict:
    """A row of the benchmark: the stored graph of one model, with the budget that stands beside it."""
    path = next(path for folder in ("tests/graphs", "benchmarks/graphs") if (path := ROOT / folder / f"{model}.ir").exists())
    budget = path.parent / "budget.json"
    budgets = json.loads(budget.read_text()) if budget.exists() else {}
    return {"instructions": count([path])[model], "budget": budgets.get(model)}


def count(graphs: list[pathlib.Path], profile_to: pathlib.Path | None = None) -> dict[str, int]:
    """Instructions per graph. `profile_to`: a folder that keeps callgrind's output, for callgrind_annotate."""
    for tool in ("valgrind", "strip"):
        if shutil.which(tool) is None:
            raise FileNotFoundError(f"{tool} is not installed; ./dev setup installs it")
    counted = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = _stripped_programs(folder)
        for graph in graphs:
            out = (profile_to or folder) / f"callgrind.{graph.stem}"
            command = ["valgrind", "--tool=callgrind", "--toggle-collect=litz_run_on_text", f"--callgrind-out-file={out}",
                       program, "opt", graph, "--to", "plan_memory", "--option", f"isa={ISA}", "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(folder)})
            found = re.search(r"Collected : (\d+)", done.stderr)
            if done.returncode != 0 or not found or int(found[1]) == 0:
                raise RuntimeError(f"{' '.join(map(str, command))} counted nothing:\n{done.stderr[-2000:]}")
            counted[graph.stem] = int(found[1])
    return counted
