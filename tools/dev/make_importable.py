"""Makes `import litz` and `backend="litz"` work in .venv from the checkout: a .pth file names python/, and a dist-info
folder there tells the entry points. The command `litz` is a link to the program."""

import pathlib
import sysconfig

import package_metadata

root = pathlib.Path(__file__).resolve().parents[2]


def write(path: pathlib.Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def main() -> None:
    package = root / "python" / "litz"
    version = package_metadata.version(package)
    information = root / "python" / f"litz-{version}.dist-info"
    write(information / "METADATA", package_metadata.metadata(version, ""))
    write(information / "entry_points.txt", package_metadata.ENTRY_POINTS)
    if not (root / ".venv").is_symlink():  # an environment that several checkouts share keeps its own
        write(pathlib.Path(sysconfig.get_path("purelib")) / "litz_checkout.pth", f"{root / 'python'}\n")
        command = root / ".venv" / "bin" / "litz"
        if not command.is_symlink():
            command.symlink_to(package / "bin" / "litz")


if __name__ == "__main__":
    main()
