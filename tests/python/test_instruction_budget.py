"""Litz's own work on a real graph stays within its budget of instructions."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools/dev")]

import budget  # noqa: E402
from benchmarks import instructions  # noqa: E402

BUDGETS = budget.budget_of(budget.TESTED)


@pytest.mark.parametrize("folder", [budget.TESTED, budget.BENCHED], ids=["tests", "benchmarks"])
def test_every_graph_has_a_budget(folder):
    assert sorted(budget.budget_of(folder)) == sorted(path.stem for path in folder.glob("*.ir"))


def test_the_graphs_are_the_twelve_models():
    from benchmarks.models import MODELS

    assert {path.stem for folder in (budget.TESTED, budget.BENCHED) for path in folder.glob("*.ir")} == set(MODELS)


@pytest.mark.parametrize("graph", sorted(BUDGETS))
def test_a_compile_stays_within_its_instructions(graph):
    counted = instructions.count([budget.TESTED / f"{graph}.ir"])
    assert budget.verdict(counted[graph], BUDGETS[graph]) is None


def test_a_count_above_or_far_below_the_budget_is_refused():
    assert budget.verdict(100, 100) is None
    assert budget.verdict(86, 100) is None
    assert "what grew" in budget.verdict(101, 100)
    assert "lower it" in budget.verdict(84, 100)
    assert "no budget" in budget.verdict(84, None)
