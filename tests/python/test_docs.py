"""The documents quote what the program gives today."""
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))

import docs  # noqa: E402


@pytest.mark.parametrize("document", docs.documents(), ids=lambda path: path.name)
def test_quotes_are_the_programs(document):
    assert docs.renewed(document) == document.read_text(), "./dev docs --update rewrites them"


@pytest.mark.parametrize("name", ["architecture.md", "ir.md", "debugging.md"])
def test_these_documents_have_quotes(name):
    assert ROOT / "docs" / name in docs.documents()


@pytest.mark.parametrize(("path", "macro"), [
    ("src/litz/graph/ops.def", "LITZ_PRIMITIVE"), ("src/litz/loop/ops.def", "LITZ_OP"), ("src/litz/loop/ops.def", "LITZ_ATTRIBUTE_OP"),
    ("src/litz/kernel/ops.def", "LITZ_KERNEL_OP"), ("src/litz/wrapper/ops.def", "LITZ_LINE"),
    ("src/litz/support/options.def", "LITZ_OPTION"),
])  # fmt: skip
def test_a_table_has_a_row_for_every_entry_of_its_list(path, macro):
    """Counted without the parser of the tables."""
    uses = re.findall(rf"^{macro}\(", (ROOT / path).read_text(), re.M)
    assert len(docs.entries(path, macro)) == len(uses) > 0


def test_links_between_documents_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", document.read_text()):
            assert "://" in target or (document.parent / target).exists(), f"{document}: {target}"
