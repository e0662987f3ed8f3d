"""What the documents quote from the program: dumps, and tables made from the lists in src/. `docs.py` names each document whose
quotes are no longer the program's, `--update` rewrites them.

A quote stands between `<!-- litz opt GRAPH ARGUMENTS -->`, `<!-- table NAME -->` or `<!-- file PATH -->` and `<!-- end -->`."""
from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
QUOTE = re.compile(r"<!-- (litz opt|table|file) (.*?) -->\n(.*?)<!-- end -->", re.S)
TEXT = r'"((?:[^"\\]|\\.)*)"'


def entries(path: str, macro: str) -> list[list[str]]:
    """The arguments of every use of a macro in a list, strings without their quotes."""
    rows = []
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith(macro + "("):
            inside = line[len(macro) + 1:line.rindex(")")]
            rows.append([m[1].replace('\\"', '"') if m[0].startswith('"') else m[0].strip()
                         for m in re.finditer(TEXT + r"|[^,\s][^,]*", inside)])
    return rows


def table(head: str, rows: list[list[str]]) -> str:
    columns = [c.strip() for c in head.split("|")]
    lines = [columns, ["---"] * len(columns), *[[cell.replace("|", "\\|") for cell in row] for row in rows]]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def graph_table() -> str:
    rows = []
    for family, _, result, schema, meaning in entries("src/litz/graph/ops.def", "LITZ_PRIMITIVE"):
        rows.append([code(schema.split("(")[0]), family, result, meaning])
    return table("op | family | element type | beyond PyTorch's meaning", rows)


def loop_table() -> str:
    path = "src/litz/loop/ops.def"
    rows = [[code(name), operands, "Explicit", "Core", meaning] for name, _, operands, meaning in entries(path, "LITZ_ATTRIBUTE_OP")]
    rows += [[code(name), operands, result, trait, meaning] for name, _, operands, result, trait, meaning in entries(path, "LITZ_OP")]
    return table("op | operands | result | target | meaning", rows)


def kernel_table() -> str:
    return table("statement | meaning", [[code(name), meaning] for name, _, meaning in entries("src/litz/kernel/ops.def", "LITZ_KERNEL_OP")])


def wrapper_table() -> str:
    return table("line | meaning", [[code(name), meaning] for name, _, meaning in entries("src/litz/wrapper/ops.def", "LITZ_LINE")])


def options_table() -> str:
    rows = []
    for _, name, default, allowed, meaning in entries("src/litz/support/options.def", "LITZ_OPTION"):
        rows.append([code(name), code(default), ", ".join(code(a) for a in allowed.split("|") if a), meaning])
    return table("option | default | allowed | meaning", rows)


TABLES = {"graph": graph_table, "loop": loop_table, "kernel": kernel_table, "wrapper": wrapper_table, "options": options_table}


def run_litz(arguments: str) -> str:
    done = subprocess.run([ROOT / "python/litz/bin/litz", "opt", *arguments.split()], cwd=DOCS, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"litz opt {arguments}: {done.stderr}")
    return done.stdout


def quoted(kind: str, what: str) -> str:
    if kind == "table":
        return TABLES[what]()
    text = run_litz(what) if kind == "litz opt" else (DOCS / what).read_text()
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return "```\n" + "".join(line + "\n" for line in lines) + "```\n"


def renewed(document: pathlib.Path) -> str:
    """The document with every quote as the program gives it now."""
    replace = lambda m: f"<!-- {m[1]} {m[2]} -->\n{quoted(m[1], m[2])}<!-- end -->"
    return QUOTE.sub(replace, document.read_text())


def documents() -> list[pathlib.Path]:
    return [path for path in sorted(DOCS.glob("*.md")) if QUOTE.search(path.read_text())]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    status = 0
    for document in documents():
        text = renewed(document)
        if text == document.read_text():
            continue
        print(f"{document.relative_to(ROOT)} {'rewritten' if arguments.update else 'is out of date: ./dev docs --update'}")
        if arguments.update:
            document.write_text(text)
        else:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
