"""Writes dist/litz-VERSION-cp311-abi3-manylinux_2_X_x86_64.whl from a release build and python/litz. The libraries are
stripped; the glibc of the tag is the newest version of a symbol that they ask for. The same input gives the same bytes."""

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile

import package_metadata

root = pathlib.Path(__file__).resolve().parents[2]
LIMIT_MIB = 60
# Libraries that every Linux system of the tag has.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "liblitz.so"}
BINARIES = ["liblitz.so", "_C.abi3.so", "bin/litz"]


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_binary(path: pathlib.Path) -> int:
    """Refuses what would not run elsewhere; the minor version of glibc that it needs."""
    dynamic = output_of("readelf", "-dW", str(path))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if needed - ALLOWED:
        raise SystemExit(f"wheel: {path.name} needs {sorted(needed - ALLOWED)}, which a machine without a compiler lacks")
    symbols = output_of("readelf", "--dyn-syms", "-W", str(path))
    if path.name == "liblitz.so":
        exported = {m for m in re.findall(r"(?:FUNC|OBJECT)\s+GLOBAL\s+DEFAULT\s+\d+ (\S+)", symbols)}
        foreign = sorted(name for name in exported if not name.startswith("litz_"))
        python = re.findall(r"UND (_?Py\w+)", symbols)
        if foreign or python:
            raise SystemExit(f"wheel: {path.name} exports {foreign[:5]} and asks for {python[:5]}; only litz_* is allowed")
    return max((int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols)), default=17)


def wheel_files(build: pathlib.Path, scratch: pathlib.Path) -> tuple[dict[str, tuple[bytes, int]], int]:
    files, glibc = {}, 17
    for path in sorted((root / "python" / "litz").rglob("*.py")):
        files[f"litz/{path.relative_to(root / 'python' / 'litz')}"] = (path.read_bytes(), 0o644)
    for name in BINARIES:
        stripped = scratch / pathlib.Path(name).name
        shutil.copy(build / "python" / "litz" / name, stripped)
        # The path of the build tree goes, $ORIGIN stays.
        subprocess.run(["llvm-strip-19", "--strip-all", str(stripped)], check=True)
        glibc = max(glibc, check_binary(stripped))
        files[f"litz/{name}"] = (stripped.read_bytes(), 0o755)
    return files, glibc


def write_wheel(out: pathlib.Path, files: dict[str, tuple[bytes, int]], information: str) -> None:
    record = ""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, mode) in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        record += f"{information}/RECORD,,\n"
        for name, (data, mode) in [*files.items(), (f"{information}/RECORD", (record.encode(), 0o644))]:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    version = package_metadata.version(arguments.build / "python" / "litz")
    with tempfile.TemporaryDirectory() as scratch:
        files, glibc = wheel_files(arguments.build, pathlib.Path(scratch))
    tag = f"cp311-abi3-manylinux_2_{glibc}_{platform.machine()}"
    information = f"litz-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: litz\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"litz-{version}.data/scripts/litz"] = ((root / "tools" / "litz" / "launcher.py").read_bytes(), 0o755)
    readme = (root / "README.md").read_text()
    for name, text in {
        "METADATA": package_metadata.metadata(version, readme),
        "WHEEL": wheel,
        "entry_points.txt": package_metadata.ENTRY_POINTS,
        "licenses/LICENSE": (root / "LICENSE").read_text(),
    }.items():
        files[f"{information}/{name}"] = (text.encode(), 0o644)
    arguments.out.mkdir(exist_ok=True)
    for old in arguments.out.glob("litz-*.whl"):
        old.unlink()
    out = arguments.out / f"litz-{version}-{tag}.whl"
    write_wheel(out, files, information)
    size = out.stat().st_size / 2**20
    print(f"{out}: {size:.1f} MiB")
    if size >= LIMIT_MIB:
        raise SystemExit(f"wheel: {size:.1f} MiB, the limit is {LIMIT_MIB}")


if __name__ == "__main__":
    main()
