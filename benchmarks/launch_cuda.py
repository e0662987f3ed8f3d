#!/usr/bin/env python3
"""Host time of a kernel launch on a GPU beside a bare cuLaunchKernel, in one process: `python3 benchmarks/launch_cuda.py --out FILE`.

Litz's is the slope over programs of more and more kernels (softmax along one dimension, then along the other: none can be fused, each
writes where the one before lay); so it holds everything that a program does between two launches. Functions of C are called through
ctypes, whose own time, of a function that does nothing with as many arguments, is taken off. Nothing waits for the device within a
measured round, and a round puts fewer launches on the stream than the driver takes without waiting.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time

import torch
import torch._dynamo

import litz

EMPTY_KERNEL = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry empty_kernel(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }
"""


def least_us(call, launches: int, rounds: int = 40) -> float:
    """The least over `rounds` of the microseconds of one of `launches`; `call(n)` makes n of them."""
    call(launches)
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call(launches)
        times.append((time.perf_counter() - start) / launches * 1e6)
    torch.cuda.synchronize()
    return min(times)


def repeat(function, *arguments):
    def call(n):
        for _ in range(n):
            function(*arguments)

    return call


def check(status: int) -> None:
    if status:
        raise RuntimeError(f"CUDA error {status}")


def bare_launch_us() -> float:
    """cuLaunchKernel of a kernel that does nothing, with four pointers."""
    driver = ctypes.PyDLL("libcuda.so.1")
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuLibraryLoadData(ctypes.byref(library), EMPTY_KERNEL, None, None, 0, None, None, 0))
    check(driver.cuLibraryGetKernel(ctypes.byref(kernel), library, b"empty_kernel"))
    memory = torch.empty(64, device="cuda")
    pointers = [ctypes.c_void_p(memory.data_ptr()) for _ in range(4)]
    table = (ctypes.c_void_p * 4)(*(ctypes.addressof(p) for p in pointers))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    arguments = (kernel, 64, 1, 1, 128, 1, 1, 0, stream, table, None)
    check(driver.cuLaunchKernel(*arguments))
    return least_us(repeat(driver.cuLaunchKernel, *arguments), 500) - least_us(repeat(ctypes.PyDLL(None).getpid, *arguments), 500)


def allocation_us() -> float:
    """An allocation of torch's caching allocator through its C interface, and giving it back."""
    cpu = ctypes.PyDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    empty, give_back = cpu.aoti_torch_empty_strided, cpu.aoti_torch_delete_tensor_object
    sizes, strides, handle = (ctypes.c_int64 * 2)(64, 64), (ctypes.c_int64 * 2)(64, 1), ctypes.c_void_p()
    arguments = (ctypes.c_int64(2), sizes, strides, 6, cpu.aoti_torch_device_type_cuda(), 0, ctypes.byref(handle))

    def call(n):
        for _ in range(n):
            empty(*arguments)
            give_back(handle)

    nothing = ctypes.PyDLL(None).getpid

    def call_nothing(n):
        for _ in range(n):
            nothing(*arguments)
            nothing(handle)

    return least_us(call, 500) - least_us(call_nothing, 500)


def softmaxes(count: int):
    def function(x):
        for k in range(count):
            x = torch.softmax(x, k % 2)
        return x

    return function


def compiled(function, x):
    """Litz's own function for `function(x)`, without torch.compile around it, and its report."""
    made = []

    def keep(module, inputs):
        made.append(litz.backend_entry(module, inputs, options={"fallback": "error"}))
        return made[0]

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=keep)(x)
    return made[0], litz.last_report()


def measure() -> dict:
    x = torch.randn(256, 256, device="cuda")
    rows = []
    for count in (2, 10, 18, 26):
        call, report = compiled(softmaxes(count), x)
        if report["library_calls"] or report["extern_calls"]:
            raise RuntimeError(f"the program is not one of kernels alone: {report}")
        rows.append(dict(softmaxes=count, launches=report["kernels"], call_us=least_us(repeat(call, x), max(1, 400 // count))))
    few, many = rows[0], rows[-1]
    one, _ = compiled(lambda x: x + 1, x)
    launch = (many["call_us"] - few["call_us"]) / (many["launches"] - few["launches"])
    bare = bare_launch_us()
    return dict(
        litz=launch, bare=bare, over_bare=launch - bare, allocation=allocation_us(),
        one_kernel_call_alone=least_us(repeat(one, x), 400), programs=rows)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    options = parser.parse_args()
    from benchmarks import machine

    result = dict(machine.describe_gpu(), launch_us=measure())
    print(json.dumps(result, indent=1))
    if options.out:
        machine.save(result, options.out)
    return 0


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the modules of this folder are the package `benchmarks`
    sys.exit(main())
