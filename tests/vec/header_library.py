"""Compiles kernels over the vector header with clang++-19 into a shared library, and calls them on torch tensors."""
import ctypes
import hashlib
import pathlib
import platform
import subprocess
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "src/litz/codegen/cpp"
CPP = {
    torch.float32: "float", torch.float64: "double", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8_e4m3fn", torch.float8_e4m3fnuz: "f8_e4m3fnuz", torch.float8_e5m2: "f8_e5m2",
    torch.float8_e5m2fnuz: "f8_e5m2fnuz", torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16", torch.uint16: "u16",
    torch.int32: "i32", torch.uint32: "u32", torch.int64: "i64", torch.uint64: "u64", torch.bool: "bool",
}
FLAGS = {
    "sse2": ["-march=x86-64"],
    "avx2": ["-march=x86-64-v3"],
    "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
} if platform.machine() == "x86_64" else {"generic": []}
CPU_FLAG = {"sse2": "sse2", "avx2": "avx2", "avx512": "avx512vl", "generic": ""}


def runs_here(isa):
    return CPU_FLAG[isa] in pathlib.Path("/proc/cpuinfo").read_text()


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


class Library:
    """`kernels` maps a name to (argument dtypes, result dtype, lane count, expression over a, b, c)."""

    def __init__(self, kernels, isa):
        text = ['#include "runtime_header/vec.h"', "using namespace litz;"]
        self.kernels = kernels
        for name, (arguments, result, lanes, expression) in kernels.items():
            parameters = ", ".join(f"const {CPP[t]}* p{i}" for i, t in enumerate(arguments))
            loads = " ".join(f"auto {'abc'[i]} = load(l, p{i} + i);" for i in range(len(arguments)))
            text.append(f'extern "C" void {name}({parameters}, {CPP[result]}* out, i64 n) {{ for_lanes<{lanes}>(0, n, [&](i64 i, auto l) '
                        f"LITZ_BODY {{ {loads} store(l, out + i, {expression}); }}); }}")
        source = "\n".join(text)
        flags = ["-std=c++20", "-O2", "-ffp-contract=off", "-fwrapv", "-nostdinc", "-fPIC", "-shared", *FLAGS[isa]]
        folder = pathlib.Path(tempfile.gettempdir()) / "litz_vec_tests"
        folder.mkdir(exist_ok=True)
        headers = b"".join(p.read_bytes() for p in sorted((HEADERS / "runtime_header").glob("*.h")))
        key = hashlib.sha256(source.encode() + headers + " ".join(flags).encode()).hexdigest()[:20]
        path = folder / f"{key}.so"
        if not path.exists():
            cpp, part = folder / f"{key}.cpp", folder / f"{key}.part.so"
            cpp.write_text(source)
            subprocess.run(["clang++-19", *flags, "-I", HEADERS, cpp, "-o", part, "-lm"], check=True)
            part.rename(path)
        self.path = path
        self.library = ctypes.CDLL(str(path)) if runs_here(isa) else None

    def call(self, name, *tensors):
        arguments, result, lanes, _ = self.kernels[name]
        out = torch.empty(tensors[0].shape, dtype=result)
        for t, expected in zip(tensors, arguments):
            assert t.dtype == expected and t.is_contiguous() and t.numel() == out.numel()
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (*tensors, out)]
        getattr(self.library, name)(*pointers, ctypes.c_int64(out.numel()))
        return out


def interesting(dtype):
    """Values at which conversions and arithmetic change their behaviour, then random ones; a length with a tail."""
    generator = torch.Generator().manual_seed(0)
    if dtype == torch.bool:
        return torch.tensor([False, True, True] * 33)
    if dtype.is_floating_point:
        if dtype.itemsize <= 2:
            bits = torch.arange(256 ** dtype.itemsize, dtype=torch.int32)
            return bits.to(torch.uint8 if dtype.itemsize == 1 else torch.uint16).view(dtype)
        inf, nan = float("inf"), float("nan")
        powers = [2.0**k for k in (-149, -140, -126, -30, -24, -14, -7, -1, 0, 1, 7, 8, 15, 16, 24, 31, 32, 52, 53, 62, 63, 64, 100, 127)]
        near = [s * p * f for p in powers for f in (1, 1 - 2.0**-12, 1 + 2.0**-12, 1 - 2.0**-24, 1 + 2.0**-23, 1.5) for s in (1, -1)]
        small = [k / 4 for k in range(-1100, 1100)]
        limits = [448, 464, 465, 479, 480, 240, 247, 248, 249, 57344, 61440, 65504, 65519.9, 65520, 3.4e38]
        spread = (torch.randn(3000, generator=generator, dtype=torch.float64) * 20).exp().tolist()
        values = [0.0, -0.0, inf, -inf, nan, *near, *small, *limits, *(-x for x in limits), *spread, *(-x for x in spread)]
        return torch.tensor(values, dtype=torch.float64).to(dtype)
    info = torch.iinfo(dtype)
    if info.bits <= 8:
        return torch.arange(info.min, info.max + 1, dtype=torch.int32).to(dtype)
    edges = [0, 1, 2, 3, 5, 7, 10, 100, 127, 128, 255, 256, 257, 2047, 2049, 32767, 32768, 65535, 65536, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1,
             2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
    values = [v for e in edges for v in (e, -e, e - 1, e + 1) if info.min <= v <= info.max] + [info.min, info.max, info.min + 1]
    random = torch.randint(-2**63, 2**63 - 1, (2000,), generator=generator)
    shifted = random >> torch.randint(0, 63, (2000,), generator=generator)
    if dtype == torch.uint64:
        return torch.cat([torch.tensor(values, dtype=dtype).view(torch.int64), random, shifted]).view(torch.uint64)
    return torch.cat([torch.tensor(values, dtype=dtype), shifted.to(dtype), random.to(dtype)])


def bits(t):
    """Equal tensors give equal integers: every NaN counts as one."""
    if t.dtype == torch.bool:
        return t.to(torch.uint8)
    plain = t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.dtype.itemsize]).to(torch.int64)
    if t.dtype.is_floating_point:
        wide = t.to(torch.float32) if t.dtype.itemsize < 4 else t
        plain = torch.where(wide.isnan(), torch.full_like(plain, 2**62 + 1), plain)
    return plain


def assert_same(got, expected, *inputs, what=""):
    different = (bits(got) != bits(expected)).nonzero().flatten()
    if len(different):
        k = different[:8]
        shown = [t.view(torch.int64)[k] if t.dtype in (torch.uint64,) else (t.to(torch.float32) if t.dtype.is_floating_point and t.dtype.itemsize == 1 else t)[k] for t in (*inputs, got, expected)]
        raise AssertionError(f"{what}: {len(different)} of {got.numel()} differ, first at {k.tolist()}: inputs, got, expected = " + " | ".join(str(s.tolist()) for s in shown))
