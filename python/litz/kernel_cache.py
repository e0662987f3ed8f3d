"""Compiled GPU kernels on disk, for every process of a user: $XDG_CACHE_HOME/litz/kernels (~/.cache without it).

An entry is found by what the machine code depends on: the source, the target, what is assumed of pointers, Triton's version, and the
files of Litz that take part. Entries are written beside and moved into place, so that readers of other processes see a whole entry or
none; one that is broken is a miss. Where nothing can be written, kernels are compiled every time.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import sys

FORMAT = b"litz-kernel-1"
HERE = os.path.dirname(os.path.abspath(__file__))


def folder(kind="kernels"):
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "litz", kind)


def write_whole(path, content):
    """Written beside and moved into place: readers find all of it or nothing. OSError where that cannot be; then nothing is left behind."""
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@functools.cache
def _compiler():
    """What stands for the compiler in a key: versions, and the sources of what is compiled with every kernel."""
    digest = hashlib.sha256(FORMAT)
    digest.update(importlib.metadata.version("triton").encode())
    for name in ("triton_ops.py", "triton_worker.py"):
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    return digest.digest()


def path_of(source, target, aligned):
    digest = hashlib.sha256(_compiler())
    digest.update(f"{target} {aligned}\n".encode())
    digest.update(source)
    name = digest.hexdigest()
    return os.path.join(folder(), name[:2], name)


def load(path):
    """(facts as text, machine code), or None."""
    try:
        with open(path, "rb") as file:
            header, _, body = file.read().partition(b"\n")
        form, digest, facts = header.split(b" ", 2)
        if form != FORMAT or hashlib.sha256(facts + b"\n" + body).hexdigest().encode() != digest:
            raise ValueError("broken")
        return facts.decode(), body
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return None


@functools.cache
def _complain(reason):
    print(f"litz: compiled kernels are not kept in {folder()}: {reason}", file=sys.stderr, flush=True)


def store(path, facts, image):
    digest = hashlib.sha256(facts.encode() + b"\n" + image).hexdigest().encode()
    try:
        write_whole(path, b" ".join((FORMAT, digest, facts.encode())) + b"\n" + image)
    except OSError as error:
        _complain(error.strerror)
