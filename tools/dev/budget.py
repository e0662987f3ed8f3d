"""The instruction budgets of compiles: `budget.py` checks the graphs of tests/graphs against budget.json beside them, `--all` those of
benchmarks/graphs too; `--update` rewrites the budgets."""
from __future__ import annotations

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import instructions  # noqa: E402

TESTED = ROOT / "tests/graphs"
BENCHED = ROOT / "benchmarks/graphs"
HEADROOM = 1.08  # over the count at the time of --update: compilers and standard libraries differ between systems
SLACK = 0.85     # a count below this share of the budget: the budget no longer guards anything


def budget_of(folder: pathlib.Path) -> dict[str, int]:
    """Instructions per graph of the folder."""
    path = folder / "budget.json"
    return json.loads(path.read_text()) if path.exists() else {}


def verdict(counted: int, budget: int | None) -> str | None:
    """Why the count does not fit the budget; None if it does."""
    if budget is None:
        return f"{counted:,} instructions, no budget: ./dev budget --update"
    if counted > budget:
        return f"{counted:,} instructions, budget {budget:,}: find what grew (./dev budget --profile FOLDER), or ./dev budget --update on purpose"
    if counted < SLACK * budget:
        return f"{counted:,} instructions, budget {budget:,}: lower it with ./dev budget --update"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all twelve graphs, not only those of the tests")
    parser.add_argument("--update", action="store_true", help="set every budget to the present count and some headroom")
    parser.add_argument("--profile", type=pathlib.Path, help="folder that keeps callgrind's files, for callgrind_annotate")
    arguments = parser.parse_args()
    if arguments.profile:
        arguments.profile.mkdir(parents=True, exist_ok=True)
    status = 0
    for folder in [TESTED, BENCHED] if arguments.all else [TESTED]:
        counted = instructions.count(sorted(folder.glob("*.ir")), arguments.profile)
        if arguments.update:
            budget = {name: int(round(count * HEADROOM, -5)) for name, count in counted.items()}
            (folder / "budget.json").write_text(json.dumps(budget, indent=2) + "\n")
        budget = budget_of(folder)
        for name, count in counted.items():
            problem = verdict(count, budget.get(name))
            print(f"{name:16} {count:>14,} of {budget.get(name, 0):>14,}{'  ' + problem if problem else ''}")
            status |= problem is not None
    return status


if __name__ == "__main__":
    sys.exit(main())
