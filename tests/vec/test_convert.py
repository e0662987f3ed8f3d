"""Casts of the vector header are eager's, bit for bit, for every pair of dtypes."""
import pytest
import torch

from header_library import CPP, FLAGS, Library, assert_same, dtype_name, interesting, runs_here

DTYPES = list(CPP)
# every pair with vectors on the widest set that runs here; scalars, and other sets, where the code differs
SCALAR_SOURCES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool]
ISAS = [isa for isa in FLAGS if runs_here(isa)]


def library(isa):
    kernels = {}
    for source in DTYPES:
        for lanes in (8, 1):
            if source in SCALAR_SOURCES or (lanes == 8 and isa == ISAS[-1]):
                for target in DTYPES:
                    kernels[f"cast_{CPP[source]}_{CPP[target]}_{lanes}"] = ((source,), target, lanes, f"cast<{CPP[target]}>(a)")
    return Library(kernels, isa)


@pytest.fixture(scope="module", params=ISAS)
def casts(request):
    return library(request.param)


@pytest.mark.parametrize("source", DTYPES, ids=dtype_name)
def test_cast_gives_eagers_bits(casts, source):
    x = interesting(source)
    if source in (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        x = x[x.view(torch.uint8) != 128]  # eager turns their NaN into the integer 0, all others into the least integer
    for target in sorted(DTYPES, key=lambda t: t == torch.uint32):
        if target == torch.uint32 and source.itemsize <= 2 and source.is_floating_point:
            x = x[x.to(torch.float32).isfinite()]  # eager's answer depends on the format that NaN comes from
        expected = x.to(target)
        for lanes in (1, 8):
            name = f"cast_{CPP[source]}_{CPP[target]}_{lanes}"
            if name in casts.kernels:
                assert_same(casts.call(name, x), expected, x, what=f"{source} to {target}, {lanes} lanes")


@pytest.mark.parametrize("isa", [isa for isa in FLAGS if not runs_here(isa)])
def test_casts_compile_for_instruction_sets_that_are_not_here(isa):
    library(isa)
