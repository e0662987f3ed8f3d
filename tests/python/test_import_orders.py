"""Litz has clang and LLVM inside; triton and llvmlite bring their own, torch exports thousands of symbols. In every order of
their imports, with compiles by each in between, nobody meets another's LLVM. Fresh processes: an import cannot be undone."""

import concurrent.futures
import itertools
import os
import subprocess
import sys

import pytest

COMPILERS = ("litz", "triton", "llvmlite")

PROGRAM = """
import sys, threading

def compile_with_litz():
    import litz._C
    litz._C.selftest_jit()

def compile_with_triton():
    # The LLVM that libtriton.so carries, from a kernel's source to assembly; its targets are those of GPUs, none needs to be there.
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kernel = triton.jit(add_one)
    kernel.__globals__["tl"] = triton.language
    assembly = triton.compile(ASTSource(kernel, {"x": "*i32"}), target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert "add.s32" in assembly, assembly

def add_one(x):
    tl.store(x, tl.load(x) + 1)

def compile_with_llvmlite():
    import ctypes
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(IR), machine)
    engine.finalize_object()
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address("f"))(41) == 42

IR = "define i32 @f(i32 %x) {\\n  %y = add i32 %x, 1\\n  ret i32 %y\\n}\\n"
COMPILE = {"litz": compile_with_litz, "triton": compile_with_triton, "llvmlite": compile_with_llvmlite}
order = sys.argv[1:]
for name in order:
    __import__("litz._C" if name == "litz" else name)
    if name in COMPILE: COMPILE[name]()
for name in order + order[::-1]:
    if name in COMPILE: COMPILE[name]()
failures = []
def repeat():
    try:
        for _ in range(3): compile_with_litz()
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=repeat) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
import torch
assert torch.ones(3).add(1).sum().item() == 6
print("every compile was right")
"""


# Every order of those that compile, with torch (which brings libraries of its own, no LLVM that it shows) before or behind all of them.
ORDERS = [order for compilers in itertools.permutations(COMPILERS) for order in (("torch", *compilers), (*compilers, "torch"))]


def run(order, folder):
    program = folder / "program.py"  # triton reads the source of kernels from their file
    environment = {**os.environ, "TRITON_ALWAYS_COMPILE": "1", "TRITON_CACHE_DIR": str(folder / "-".join(order))}
    environment.pop("TRITON_INTERPRET", None)
    return subprocess.run([sys.executable, program, *order], capture_output=True, text=True, timeout=600, env=environment)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """All orders, as many at a time as there are processors."""
    folder = tmp_path_factory.mktemp("import_orders")
    (folder / "program.py").write_text(PROGRAM)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {order: pool.submit(run, order, folder) for order in ORDERS}


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_compiles_are_right_whatever_was_imported_first(processes, order):
    done = processes[order].result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("every compile was right"), done.stdout + done.stderr
