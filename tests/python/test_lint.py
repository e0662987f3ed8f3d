"""The rules of the source that a program can check, and that the program sees each breach."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))

import lint  # noqa: E402


def test_the_source_keeps_the_rules():
    done = subprocess.run([sys.executable, ROOT / "tools/dev/lint.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("src/litz/loop/a.cpp", "int relationship, assent;\nint lanes_of_avx512;", "a.cpp:2: device name 'avx512' in the core"),
        ("src/litz/target/a.h", "// as on CUDA", "a.h:1: device name 'CUDA' in the core"),
        ("src/litz/support/a.def", "X(isa, sse)", "a.def:1: device name 'sse' in the core"),
        ("tools/a.py", "# TO" + "DO: later", "a.py:1: mark"),
        ("src/litz/loop/a.cpp", "\n" * 801, "801 lines, at most 800"),
    ],
)
def test_a_breach_is_named(name, text, says, tmp_path, monkeypatch):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    monkeypatch.setattr(lint, "root", tmp_path)
    breaches = []
    lint.check_text(name, breaches)
    assert len(breaches) == 1 and says in breaches[0], breaches


@pytest.mark.parametrize("name", ["src/litz/device/cpu/a.cpp", "src/litz/codegen/triton/a.cpp", "src/litz/graph/README.md", "tests/a.cpp"])
def test_devices_have_names_in_their_own_folders(name, tmp_path, monkeypatch):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("cuda, triton, avx512")
    monkeypatch.setattr(lint, "root", tmp_path)
    breaches = []
    lint.check_text(name, breaches)
    assert breaches == []


def test_a_file_that_is_not_formatted_is_named(tmp_path, monkeypatch):
    (tmp_path / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    (tmp_path / "a.cpp").write_text("int   f( ) {return 1;}\n")
    monkeypatch.setattr(lint, "root", tmp_path)
    breaches = []
    lint.check_format(["a.cpp"], breaches)
    assert breaches and breaches[0].startswith("a.cpp:1: not formatted"), breaches
