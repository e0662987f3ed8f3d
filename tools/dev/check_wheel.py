"""Installs a wheel into a fresh environment and tries it: no compiler, no LLVM and no checkout on any path. torch is that of
the environment this runs in."""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

PROGRAM = """
import torch, torch._dynamo
assert "litz" in torch._dynamo.list_backends(), torch._dynamo.list_backends()

def f(x, w, b):
    h = torch.nn.functional.layer_norm(x, (768,), w, b)
    x.add_(1)
    return h.to(torch.bfloat16)

compiled = torch.compile(f, backend="litz", dynamic=True, options={"fallback": "error"})
for rows in (32, 7):
    x, w, b = torch.randn(rows, 768), torch.randn(768), torch.randn(768)
    mine, theirs = x.clone(), x.clone()
    torch.testing.assert_close(compiled(mine, w, b), f(theirs, w, b))
    torch.testing.assert_close(mine, theirs)
import litz
assert "site-packages" in litz.__file__, litz.__file__
print("litz", litz.__version__, "from the wheel, torch", torch.__version__)
"""


def main() -> None:
    wheel = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        environment = pathlib.Path(scratch) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        python = environment / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
        packages = subprocess.run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                  check=True, capture_output=True, text=True).stdout.strip()
        # torch and what it needs: the other environment's packages, without its .pth files, after this one's own.
        (pathlib.Path(packages) / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
        bare = {"PATH": str(environment / "bin"), "HOME": scratch, "TMPDIR": scratch}
        if "LD_LIBRARY_PATH" in os.environ:
            bare["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        subprocess.run([str(environment / "bin" / "litz"), "--version"], check=True, cwd=scratch, env=bare)
        subprocess.run([str(python), "-c", PROGRAM], check=True, cwd=scratch, env=bare)


if __name__ == "__main__":
    main()
