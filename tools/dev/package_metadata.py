"""What Litz says of itself to Python's package tools: the one place for wheel and checkout."""

import ctypes
import pathlib

ENTRY_POINTS = """[torch_dynamo_backends]
litz = litz:backend_entry
"""


def version(package: pathlib.Path) -> str:
    library = ctypes.CDLL(str(package / "liblitz.so"))
    library.litz_version.restype = ctypes.c_char_p
    return library.litz_version().decode()


def metadata(version: str, readme: str) -> str:
    return f"""Metadata-Version: 2.1
Name: litz
Version: {version}
Summary: A tensor compiler for PyTorch, written in C++
License: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: torch>=2.11
Description-Content-Type: text/markdown

{readme}"""
