"""The core of the vector header needs no code for a new instruction set: it compiles for processors that have none of ours."""
import subprocess

import pytest

from header_library import HEADERS

SOURCE = """
#include "runtime_header/vec.h"
#include "runtime_header/float64.h"
using namespace litz;
extern "C" void kernel(const float* x, const bf16* y, const f16* z, const i64* at, const bool* k, float* out, i64 n) {
  for_lanes<4>(0, n, [&](i64 i, auto l) LITZ_BODY {
    auto a = add(load(l, x + i), mul(load(l, y + i), load_masked(l, z + i, load(l, k + i), 0)));
    auto b = add(exp(a), add(tanh(a), add(erf(a), add(sin(a), add(log(a), pow(a, a))))));
    store(l, out + i, where(lt(a, b), fmod(a, b), cast<float>(cast<i32>(gather(l, x, load(l, at + i))))));
  });
}
extern "C" void kernel64(const double* x, double* out, i64 n) {
  for_lanes<4>(0, n, [&](i64 i, auto l) LITZ_BODY {
    auto a = load(l, x + i);
    auto b = add(exp(a), add(tanh(a), add(erf(a), add(sin(a), add(log(a), pow(a, a))))));
    store(l, out + i, add(b, add(erfc(a), add(atan2(a, b), acosh(a)))));
  });
}
"""


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "x86_64-linux-gnu", "riscv64-linux-gnu"])
def test_header_compiles_for(target, tmp_path):
    source, result = tmp_path / "kernel.cpp", tmp_path / "kernel.o"
    source.write_text(SOURCE)
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-nostdinc", f"--target={target}"]
    subprocess.run(["clang++-19", *flags, "-I", HEADERS, "-c", source, "-o", result], check=True)
    assert result.stat().st_size > 1000
