"""Lines per folder, the longest files, sizes of what is built."""

import collections
import pathlib
import subprocess

root = pathlib.Path(__file__).resolve().parents[2]
CODE = {".h", ".c", ".cpp", ".def", ".py", ".sh", ".cmake"}


def main() -> None:
    names = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    lengths = {}
    for name in names:
        if pathlib.PurePath(name).suffix in CODE and (root / name).is_file():
            lengths[name] = (root / name).read_bytes().count(b"\n")
    folders: dict[str, list[int]] = collections.defaultdict(list)
    for name, lines in lengths.items():
        parts = pathlib.PurePath(name).parts
        folders["/".join(parts[:-1][:3]) or "."].append(lines)
    for folder, counts in sorted(folders.items()):
        print(f"{sum(counts):7} lines {len(counts):4} files  {folder}")
    print(f"{sum(lengths.values()):7} lines {len(lengths):4} files  in all; the longest:")
    for name, lines in sorted(lengths.items(), key=lambda item: -item[1])[:5]:
        print(f"{lines:7} lines             {name}")
    built = [*root.glob("python/litz/*.so"), *root.glob("build/*/lib/*.so"), *root.glob("build/release/python/litz/*.so")]
    for path in [*built, *root.glob("dist/*.whl")]:
        print(f"{path.stat().st_size / 2**20:7.1f} MiB               {path.relative_to(root)}")


if __name__ == "__main__":
    main()
