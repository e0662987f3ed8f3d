"""check_wheel.py WHEEL [PYTEST ARGUMENTS]: installs the wheel into a fresh environment and tries it there, with no compiler, no LLVM and
no checkout on any path. torch and Python are those that this runs in, so any version is tried by running this with it:

    OTHER/bin/python tools/dev/check_wheel.py dist/litz-*.whl
    OTHER/bin/python tools/dev/check_wheel.py dist/litz-*.whl tests/python/test_import_orders.py tests/python/test_models_small.py
"""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import copy, threading
import torch, torch._dynamo
from torch.nn import functional as F
assert "litz" in torch._dynamo.list_backends(), torch._dynamo.list_backends()

def compiled(function, **options):
    return torch.compile(function, backend="litz", options={"fallback": "error"}, **options)

# docs/architecture.md's graph: a layer norm, a cast and a write to the input, one compile for several sizes
def f(x, w, b):
    h = F.layer_norm(x, (768,), w, b)
    x.add_(1)
    return h.to(torch.bfloat16)

g = compiled(f, dynamic=True)
for rows in (32, 7):
    x, w, b = torch.randn(rows, 768), torch.randn(768), torch.randn(768)
    mine, theirs = x.clone(), x.clone()
    torch.testing.assert_close(g(mine, w, b), f(theirs, w, b))
    torch.testing.assert_close(mine, theirs)

# a perceptron, trained for three steps beside eager
mlp = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.Linear(64, 5))
twin = copy.deepcopy(mlp)
step = compiled(mlp)
for model, call in ((mlp, step), (twin, twin)):
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        loss = F.cross_entropy(call(torch.randn(16, 20)), torch.randint(0, 5, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
for mine, theirs in zip(mlp.parameters(), twin.parameters(), strict=True):
    torch.testing.assert_close(mine, theirs)

# compiles in several threads at once
failures = []
def in_thread(k):
    try:
        h = lambda x: torch.softmax(x * k, -1).sum(0)
        x = torch.randn(9, 33 + k)
        with torch.no_grad():
            torch.testing.assert_close(compiled(h)(x), h(x))
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=in_thread, args=(k,)) for k in range(1, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures

import litz
assert "site-packages" in litz.__file__, litz.__file__
import platform
print("litz", litz.__version__, "from the wheel, torch", torch.__version__, "Python", platform.python_version())
"""


def main() -> None:
    wheel = pathlib.Path(sys.argv[1]).resolve()
    tests = sys.argv[2:]
    with tempfile.TemporaryDirectory() as scratch:
        environment = pathlib.Path(scratch) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        python = environment / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
        # A PYTHONPATH that names the checkout would make pip find litz installed already.
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, env=outside)
        packages = subprocess.run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                  check=True, capture_output=True, text=True).stdout.strip()
        # torch and what it needs: the other environment's packages, without its .pth files, after this one's own.
        (pathlib.Path(packages) / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
        bare = {"PATH": str(environment / "bin"), "HOME": scratch, "TMPDIR": scratch}
        if "LD_LIBRARY_PATH" in os.environ:
            bare["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        subprocess.run([str(environment / "bin" / "litz"), "--version"], check=True, cwd=scratch, env=bare)
        began = time.monotonic()
        subprocess.run([str(python), "-c", PROGRAM], check=True, cwd=scratch, env=bare)
        print(f"check_wheel: tried in {time.monotonic() - began:.1f} s")
        if tests:  # without pytest.ini, which puts the checkout's own package first
            pytest = [str(python), "-m", "pytest", "-c", os.devnull, "--rootdir", str(root), "-p", "no:cacheprovider", "-q", *tests]
            sys.exit(subprocess.run(pytest, cwd=root, env=bare | {"PYTHONDONTWRITEBYTECODE": "1"}).returncode)


if __name__ == "__main__":
    main()
