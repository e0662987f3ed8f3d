"""The instruction budget of a compile: `budget.py` checks every graph of tests/graphs against budget.json, `--update` rewrites that."""
from __future__ import annotations

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import instructions  # noqa: E402

GRAPHS = ROOT / "tests/graphs"
BUDGET = GRAPHS / "budget.json"
HEADROOM = 1.05  # over the count at the time of --update: standard libraries differ between systems
SLACK = 0.85     # a count below this share of the budget: the budget no longer guards anything


def verdict(counted: int, budget: int) -> str | None:
    """Why the count does not fit the budget; None if it does."""
    if counted > budget:
        return f"{counted:,} instructions, budget {budget:,}: find what grew (./dev budget --profile FOLDER), or ./dev budget --update on purpose"
    if counted < SLACK * budget:
        return f"{counted:,} instructions, budget {budget:,}: lower it with ./dev budget --update"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="set every budget to the present count and some headroom")
    parser.add_argument("--profile", type=pathlib.Path, help="folder that keeps callgrind's files, for callgrind_annotate")
    arguments = parser.parse_args()
    if arguments.profile:
        arguments.profile.mkdir(parents=True, exist_ok=True)
    counted = instructions.count(sorted(GRAPHS.glob("*.ir")), arguments.profile)
    if arguments.update:
        budget = {name: round(count * HEADROOM, -5) for name, count in counted.items()}
        BUDGET.write_text(json.dumps({name: int(value) for name, value in budget.items()}, indent=2) + "\n")
    if not BUDGET.exists():
        print(f"no budget stands in {BUDGET.relative_to(ROOT)}; --update writes it", file=sys.stderr)
        return 1
    budget = json.loads(BUDGET.read_text())
    status = 0
    for name, count in counted.items():
        problem = verdict(count, budget[name])
        print(f"{name:16} {count:>14,} of {budget[name]:>14,}{'  ' + problem if problem else ''}")
        status |= problem is not None
    return status


if __name__ == "__main__":
    sys.exit(main())
