"""A process may end at any moment of a compile: no thread finds statics of clang or LLVM destroyed under it."""

import concurrent.futures
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/litz"

PROGRAM = """
import importlib.util, sys, threading, time

def load(path):
    spec = importlib.util.spec_from_file_location("litz._C", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

compiler = load(sys.argv[1])
compiling = threading.Barrier(4)

def compile_without_end():
    compiling.wait()
    while True:
        compiler.selftest_jit()

for _ in range(3):
    threading.Thread(target=compile_without_end, daemon=True).start()
compiler.prepare("cpu")  # in the background: the vector header, far longer than the kernels of the threads
compiling.wait()
time.sleep(float(sys.argv[2]))
sys.exit(7)
"""


def end_after(seconds):
    """What the process leaves that exits so long after its first compile began."""
    command = [sys.executable, "-c", PROGRAM, str(PACKAGE / "_C.abi3.so"), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def test_a_process_may_exit_in_the_middle_of_compiles_of_several_threads():
    """From before the first compile has made anything to when there have been several."""
    moments = [k * 0.012 for k in range(20)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(end_after, moments))
    assert ends == [(7, "")] * len(moments)
