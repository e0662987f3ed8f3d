"""Element ops of the vector header give eager's bits on every dtype; the approximated ones are held to ulps elsewhere."""
import itertools

import numpy
import pytest
import torch

from header_library import CPP, FLAGS, Library, assert_same, dtype_name, interesting, runs_here

FLOATS = [torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
NUMBERS = FLOATS + INTEGERS
BITS = INTEGERS + [torch.bool]
ALL = NUMBERS + [torch.bool]
ISAS = [isa for isa in FLAGS if runs_here(isa)]
LANES = {isa: (8, 1) if isa == ISAS[-1] else (8,) for isa in FLAGS}


def nonzero(b):
    return torch.where(b == 0, torch.ones_like(b), b)


def exact_sqrt(a):
    """Correctly rounded; eager's own is off by an ulp now and then."""
    with numpy.errstate(invalid="ignore"):
        return torch.from_numpy(numpy.sqrt(a.numpy()))


# name: (dtypes, eager, result dtype or None for the operands', what to do with the second operand)
BINARY = {
    "add": (ALL, torch.add, None), "sub": (NUMBERS, torch.sub, None), "mul": (ALL, torch.mul, None), "div": (FLOATS, torch.div, None),
    "trunc_div": (INTEGERS, lambda a, b: torch.div(a, b, rounding_mode="trunc"), None),
    "floor_div": (NUMBERS, torch.floor_divide, None), "fmod": (NUMBERS, torch.fmod, None), "remainder": (NUMBERS, torch.remainder, None),
    "minimum": (ALL, torch.minimum, None), "maximum": (ALL, torch.maximum, None), "fmin": (NUMBERS, torch.fmin, None), "fmax": (NUMBERS, torch.fmax, None),
    "eq": (ALL, torch.eq, torch.bool), "ne": (ALL, torch.ne, torch.bool), "lt": (ALL, torch.lt, torch.bool), "le": (ALL, torch.le, torch.bool),
    "gt": (ALL, torch.gt, torch.bool), "ge": (ALL, torch.ge, torch.bool),
    "bitwise_and": (BITS, torch.bitwise_and, None), "bitwise_or": (BITS, torch.bitwise_or, None), "bitwise_xor": (BITS, torch.bitwise_xor, None),
    "logical_and": ([torch.bool], torch.logical_and, None), "logical_or": ([torch.bool], torch.logical_or, None),
    "logical_xor": ([torch.bool], torch.logical_xor, None),
    "shift_left": (INTEGERS, torch.bitwise_left_shift, None), "shift_right": (INTEGERS, torch.bitwise_right_shift, None),
    "copysign": (FLOATS, torch.copysign, None), "nextafter": (FLOATS, torch.nextafter, None), "pow": (INTEGERS, None, None),
}
UNARY = {
    "neg": (NUMBERS, torch.neg, None), "abs": (NUMBERS, torch.abs, None), "sign": (NUMBERS, torch.sign, None),
    "ceil": (FLOATS, torch.ceil, None), "floor": (FLOATS, torch.floor, None), "trunc": (FLOATS, torch.trunc, None), "round": (FLOATS, torch.round, None),
    "frac": (FLOATS, torch.frac, None), "sqrt": (FLOATS, exact_sqrt, None), "rsqrt": (FLOATS, torch.rsqrt, None), "reciprocal": (FLOATS, torch.reciprocal, None),
    "isnan": (NUMBERS, torch.isnan, torch.bool), "isinf": (NUMBERS, torch.isinf, torch.bool), "isfinite": (NUMBERS, torch.isfinite, torch.bool),
    "signbit": (NUMBERS, torch.signbit, torch.bool), "relu": (NUMBERS, torch.relu, None), "bitwise_not": (BITS, torch.bitwise_not, None),
    "logical_not": ([torch.bool], torch.logical_not, None),
}


def library(isa):
    kernels = {}
    for table, call in ((BINARY, "{}(a, b)"), (UNARY, "{}(a)")):
        for name, (dtypes, _, result) in table.items():
            for dtype, lanes in itertools.product(dtypes, LANES[isa]):
                kernels[f"{name}_{CPP[dtype]}_{lanes}"] = ((dtype,) * call.count("a, b") * 2 or (dtype,), result or dtype, lanes, call.format(name))
    for dtype in ALL:
        for lanes in LANES[isa]:
            kernels[f"where_{CPP[dtype]}_{lanes}"] = ((torch.bool, dtype, dtype), dtype, lanes, "where(a, b, c)")
    for word, lanes in itertools.product(range(4), LANES[isa]):
        kernels[f"philox_{word}_{lanes}"] = ((torch.int64, torch.int64), torch.uint32, lanes, f"philox(a, b).c{word}")
    for dtype in (torch.float16, torch.bfloat16):
        kernels[f"nextafter_{CPP[dtype]}_8"] = ((dtype, dtype), dtype, 8, f"nextafter_of<{CPP[dtype]}>(a, b)")
    return Library(kernels, isa)


@pytest.fixture(scope="module", params=ISAS)
def ops(request):
    return library(request.param)


def lane_counts(ops):
    return [lanes for lanes in (1, 8) if f"add_float_{lanes}" in ops.kernels]


def operands(dtype, count=20001):
    """Pairs: every value with its neighbours in the list, then with random others; a length with a tail."""
    values = interesting(dtype)
    generator = torch.Generator().manual_seed(1)
    first = second = values.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize])
    pick = torch.randint(0, 2**31, (2, count), generator=generator)
    near = torch.arange(count) % len(values)
    pick = pick % len(values)
    a = torch.cat([first[near], first[pick[0]]])
    b = torch.cat([second[(near + torch.arange(count) // len(values)) % len(values)], second[pick[1]]])
    return a.view(dtype), b.view(dtype)


def exact_fmod(a, b):
    """The C library's: eager's vectors lose the remainder when the quotient or the divisor is extreme."""
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return torch.from_numpy(numpy.fmod(a.numpy(), b.numpy()))


def exact_remainder(a, b):
    r = exact_fmod(a, b)
    return torch.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


def power(a, b):
    """Exact, in Python's integers, then wrapped."""
    info, result = torch.iinfo(a.dtype), []
    for x, n in zip(a.tolist(), b.tolist()):
        if n < 0:
            result.append(1 if x == 1 else (-1 if n % 2 else 1) if x == -1 else 0)
        else:
            y = pow(x, n, 2**info.bits)
            result.append(y - 2**info.bits if y > info.max else y)
    return torch.tensor(result, dtype=a.dtype)


EXACT = {"pow": power, "fmod": exact_fmod, "remainder": exact_remainder}


@pytest.mark.parametrize("name,dtype", [(n, t) for n, row in BINARY.items() for t in row[0]], ids=lambda v: v if isinstance(v, str) else dtype_name(v))
def test_binary_op_gives_eagers_bits(ops, name, dtype):
    a, b = operands(dtype)
    if not dtype.is_floating_point and name in ("trunc_div", "floor_div", "fmod", "remainder"):
        least = torch.iinfo(dtype).min  # least / -1 traps in eager
        b = nonzero(b)
        b = torch.where((a == least) & (b == -1), torch.ones_like(b), b) if least < 0 else b
    if name in ("minimum", "maximum", "fmin", "fmax") and dtype.is_floating_point:
        b = torch.where((a == 0) & (b == 0), a, b)  # of two zeros either is right
    reference = EXACT.get(name) if dtype.is_floating_point or name == "pow" else None
    expected = (reference or BINARY[name][1])(a, b)
    for lanes in lane_counts(ops):
        assert_same(ops.call(f"{name}_{CPP[dtype]}_{lanes}", a, b), expected, a, b, what=f"{name} of {dtype}, {lanes} lanes")


@pytest.mark.parametrize("name,dtype", [(n, t) for n, row in UNARY.items() for t in row[0]], ids=lambda v: v if isinstance(v, str) else dtype_name(v))
def test_unary_op_gives_eagers_bits(ops, name, dtype):
    a = interesting(dtype)
    expected = UNARY[name][1](a)
    for lanes in lane_counts(ops):
        assert_same(ops.call(f"{name}_{CPP[dtype]}_{lanes}", a), expected, a, what=f"{name} of {dtype}, {lanes} lanes")


@pytest.mark.parametrize("dtype", ALL, ids=dtype_name)
def test_where_selects(ops, dtype):
    a, b = operands(dtype)
    k = torch.rand(len(a), generator=torch.Generator().manual_seed(2)) < 0.5
    for lanes in lane_counts(ops):
        assert_same(ops.call(f"where_{CPP[dtype]}_{lanes}", k, a, b), torch.where(k, a, b), k, a, b)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=dtype_name)
def test_nextafter_steps_in_the_narrow_format(ops, dtype):
    values = interesting(dtype)
    a = values.repeat(2)
    b = torch.cat([torch.full_like(values, float("inf")), torch.full_like(values, -1.0)])
    # the neighbour by the order of the bit patterns
    key = values.view(torch.int16).to(torch.int32)
    order = torch.where(key < 0, -(key & 0x7FFF), key)
    finite = ~values.isnan()
    table = {int(k): v for k, v in zip(order[finite], values[finite].to(torch.float32).tolist())}
    steps = []
    for x, y in zip(a.tolist(), b.tolist()):
        if x != x or x == y:
            steps.append(x)
            continue
        bits = int(torch.tensor(x, dtype=dtype).view(torch.int16))
        k = -(bits & 0x7FFF) if bits < 0 else bits
        steps.append(table[k + (1 if y > x else -1)])
    expected = torch.tensor(steps, dtype=torch.float32).to(dtype)
    got = ops.call(f"nextafter_{CPP[dtype]}_8", a, b)
    assert_same(torch.where(got == 0, got.abs(), got), torch.where(expected == 0, expected.abs(), expected), a, b)


def philox(seed, offset):
    c, k = [offset % 2**32, offset // 2**32 % 2**32, 0, 0], [seed % 2**32, seed // 2**32 % 2**32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q % 2**32, p >> 32 ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def test_philox_gives_the_published_words(ops):
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's known answers
    seeds = interesting(torch.int64)
    offsets = seeds.flip(0)
    expected = torch.tensor([philox(s, o) for s, o in zip(seeds.tolist(), offsets.tolist())])
    for word, lanes in itertools.product(range(4), lane_counts(ops)):
        got = ops.call(f"philox_{word}_{lanes}", seeds, offsets)
        assert_same(got.to(torch.int64), expected[:, word], seeds, offsets)


def test_integer_division_of_the_least_integer_wraps_and_by_zero_does_not_trap(ops):
    for dtype in INTEGERS:
        info = torch.iinfo(dtype)
        a = torch.full((19,), info.min, dtype=dtype)
        for divisor in (0, -1 if info.min else 0):
            b = torch.full_like(a, divisor)
            for name in ("trunc_div", "floor_div", "fmod", "remainder"):
                expected = a if divisor == -1 and name.endswith("div") else torch.zeros_like(a)
                for lanes in lane_counts(ops):
                    assert_same(ops.call(f"{name}_{CPP[dtype]}_{lanes}", a, b), expected, a, b, what=name)


@pytest.mark.parametrize("isa", [isa for isa in FLAGS if not runs_here(isa)])
def test_ops_compile_for_instruction_sets_that_are_not_here(isa):
    library(isa)
