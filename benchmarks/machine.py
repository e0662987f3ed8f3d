"""What a result depends on besides the code: the machine, the versions, the date."""
from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path


def _cpu() -> tuple[str, list[str]]:
    model, flags = platform.processor(), []
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip() == "flags":
                flags = value.split()
    wanted = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16", "asimd", "bf16")
    return model, [f for f in wanted if f in flags]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe_gpu() -> dict:
    """The same for a measurement on a GPU, with the command that was given."""
    import torch
    import triton

    import litz

    program = os.path.relpath(sys.argv[0], Path(__file__).parent.parent)  # `python -m` gives a path of this machine
    return dict(date=time.strftime("%Y-%m-%d"), command=" ".join([program, *sys.argv[1:]]), cores=os.cpu_count(), gpu=torch.cuda.get_device_name(),
                torch=torch.__version__, triton=triton.__version__, litz=litz.__version__)  # fmt: skip


def save(result: dict, path: str) -> None:
    with open(path, "w") as file:
        json.dump(result, file, indent=1)


def describe() -> dict:
    """The facts that stand at the head of a result file."""
    model, flags = _cpu()
    root = Path(__file__).parent.parent
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit or None,
        "cpu": model, "cpu_features": flags, "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(), "python": platform.python_version(),
        "versions": {p: _version(p) for p in ("litz", "torch", "timm", "transformers", "triton")},
    }
