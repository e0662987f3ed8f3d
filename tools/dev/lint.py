"""The rules that a program can check. Prints every breach as file:line: message; the exit code is 1 when there is one."""

import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
MAX_LINES = 800
CODE = {".h", ".c", ".cpp", ".def", ".py", ".sh", ".cmake"}
DEVICE_NAMES = re.compile(r"(?<![a-z])(cuda|triton|hip|rocm|avx\d*|sse\d*|neon)(?![a-z])", re.IGNORECASE)
DEVICE_FOLDERS = ("src/litz/device/", "src/litz/codegen/")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
VAGUE_NAMES = re.compile(r"(^|_)(utils?|common|helpers?|misc)$")


def tracked() -> list[str]:
    out = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in out.splitlines() if (root / name).is_file()]


def check_text(name: str, breaches: list[str]) -> None:
    lines = (root / name).read_text(errors="replace").splitlines()
    if len(lines) > MAX_LINES:
        breaches.append(f"{name}:{MAX_LINES}: {len(lines)} lines, at most {MAX_LINES}: split the file")
    core = name.startswith("src/litz/") and not name.startswith(DEVICE_FOLDERS) and not name.endswith(".md")
    for number, line in enumerate(lines, 1):
        if name != "tools/dev/lint.py" and (mark := MARKS.search(line)):
            breaches.append(f"{name}:{number}: mark '{mark[0]}': do it or file it")
        if core and (device := DEVICE_NAMES.search(line)):
            breaches.append(f"{name}:{number}: device name '{device[0]}' in the core: ask the target a question instead")


def check_format(names: list[str], breaches: list[str]) -> None:
    command = ["clang-format-19", "--dry-run", *names]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True).stderr
    for line in found.splitlines():
        if match := re.match(r"(.*?):(\d+):\d+: warning: code should be clang-formatted", line):
            breaches.append(f"{match[1]}:{match[2]}: not formatted: ./dev format")


def main() -> None:
    breaches: list[str] = []
    names = tracked()
    for name in names:
        path = pathlib.PurePath(name)
        if VAGUE_NAMES.search(path.stem):
            breaches.append(f"{name}:1: a file named {path.stem}: name it after its concept")
        if path.suffix in CODE or path.name in {"dev", "CMakeLists.txt"}:
            check_text(name, breaches)
    for folder in sorted({str(pathlib.PurePath(n).parent) for n in names if n.startswith("src/litz/") and n.endswith(".h")}):
        if not (root / folder / "README.md").exists():
            breaches.append(f"{folder}:1: no README.md: what goes in, what comes out, the header to read")
    check_format([n for n in names if pathlib.PurePath(n).suffix in {".h", ".c", ".cpp"}], breaches)
    for breach in breaches:
        print(breach)
    print(f"lint: {len(breaches)} breaches in {len(names)} files")
    sys.exit(bool(breaches))


if __name__ == "__main__":
    main()
