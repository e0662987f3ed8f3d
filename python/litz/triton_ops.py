"""What generated Triton kernels call: ops whose meaning Triton has no name for, each as Litz defines it (loop/ops.def).

Imported under the name litz_triton_ops by whoever runs generated source, so that no part of litz has to be loaded for it.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

# ---- arithmetic ----


@triton.jit
def add_bool(a, b):
    return a | b


@triton.jit
def div(a, b):
    if a.dtype == tl.float64:
        return a / b
    else:
        return tl.math.div_rn(a, b)


@triton.jit
def sqrt(a):
    if a.dtype == tl.float64:
        return tl.math.sqrt(a)
    else:
        return tl.math.sqrt_rn(a)


@triton.jit
def reciprocal(a):
    return div(tl.full([], 1.0, a.dtype), a)


@triton.jit
def rsqrt(a):
    return tl.math.rsqrt(a)


@triton.jit
def sigmoid(a):
    return div(tl.full([], 1.0, a.dtype), 1.0 + tl.exp(-a))


@triton.jit
def coarse_sigmoid(a):
    """Within two ulp of float32: for kernels whose results are narrower."""
    return 1.0 / (1.0 + tl.exp(-a))


@triton.jit
def coarse_tanh(a):
    """Within 1e-6 of the value: for kernels whose results are narrower."""
    small = a - a * a * a * 0.33333334
    return tl.where(tl.abs(a) < 0.04, small, 1.0 - 2.0 / (tl.exp(2.0 * a) + 1.0))


@triton.jit
def coarse_tail(t):
    """Within 3e-6 of erfc(t), for t from 0 to 4."""
    p = tl.fma(t, 0.0002872279659429308, -0.004471878007380095)
    p = tl.fma(p, t, 0.032536580783686084)
    p = tl.fma(p, t, -0.15119466095376066)
    p = tl.fma(p, t, -0.9175682529335747)
    p = tl.fma(p, t, -1.62800594049765)
    return tl.exp2(p * t)


@triton.jit
def coarse_erf(a):
    """Within 2e-6 of the value and of 1 - |value|: for kernels whose results are narrower. A tail as a power of two, a short series near 0."""
    t = tl.minimum(tl.abs(a), 4.0, propagate_nan=tl.PropagateNan.ALL)
    tail = 1.0 - coarse_tail(t)
    square = a * a
    series = tl.fma(tl.fma(square, 0.11035100722619795, -0.37606824921141624), square, 1.1283789648610107)
    return tl.where(t < 0.25, series * a, tl.where(a < 0, -tail, tail))


@triton.jit
def coarse_erf_plus_one(a):
    """Within 3e-6 of 1 + erf(a): for kernels whose results are narrower."""
    t = tl.abs(a)
    tail = tl.where(t >= 4.0, 0.0, coarse_tail(t))  # 0 and no small number: gelu multiplies it by a
    return tl.where(a < 0, tail, 2.0 - tail)


@triton.jit
def coarse_tanh_plus_one(a):
    """Within two ulp of float32 of 1 + tanh(a): for kernels whose results are narrower."""
    return 2.0 / (1.0 + tl.exp(-2.0 * a))


@triton.jit
def relu(a):
    return tl.where((a > 0) | (a != a), a, tl.zeros_like(a))


@triton.jit
def sign(a):
    return (a > 0).to(a.dtype) - (a < 0).to(a.dtype)


@triton.jit
def isnan(a):
    return a != a


@triton.jit
def isinf(a):
    return tl.abs(a) == float("inf")


@triton.jit
def signbit(a):
    if a.dtype == tl.float32:
        return a.to(tl.int32, bitcast=True) < 0
    elif a.dtype == tl.float64:
        return a.to(tl.int64, bitcast=True) < 0
    elif a.dtype.is_floating():
        return a.to(tl.int16, bitcast=True) < 0
    else:
        return a < 0


@triton.jit
def neg(a):
    """Triton's own minus is 0 - a, which makes 0.0 of 0.0."""
    if a.dtype.is_floating():
        return a * -1.0
    else:
        return -a


@triton.jit
def copysign(a, b):
    magnitude = tl.abs(a)
    return tl.where(signbit(b), neg(magnitude), magnitude)


@triton.jit
def minimum(a, b):
    """NaN if either is; -0.0 is less than 0.0."""
    if a.dtype.is_floating():
        return tl.where((a < b) | (a != a) | ((a == b) & signbit(a)), a, b)
    else:
        return tl.where(a < b, a, b)


@triton.jit
def maximum(a, b):
    """NaN if either is; 0.0 is greater than -0.0."""
    if a.dtype.is_floating():
        return tl.where((a > b) | (a != a) | ((a == b) & (signbit(a) == 0)), a, b)
    else:
        return tl.where(a > b, a, b)


@triton.jit
def least(a, b):
    """NaN if either is; of two zeros either: what a reduction keeps."""
    if a.dtype == tl.float32:
        return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where((a < b) | (a != a), a, b)


@triton.jit
def greatest(a, b):
    if a.dtype == tl.float32:
        return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    else:
        return tl.where((a > b) | (a != a), a, b)


@triton.jit
def fmin(a, b):
    return tl.where((a < b) | (b != b), a, b)


@triton.jit
def fmax(a, b):
    return tl.where((a > b) | (b != b), a, b)


@triton.jit
def nonzero_divisor(b):
    return tl.where(b == 0, tl.full([], 1, b.dtype), b)


@triton.jit
def trunc_div(a, b):
    return tl.where(b == 0, tl.zeros_like(a), a // nonzero_divisor(b))


@triton.jit
def fmod(a, b):
    if a.dtype.is_floating():
        return libdevice.fmod(a, b)
    else:
        return tl.where(b == 0, tl.zeros_like(a), a % nonzero_divisor(b))


@triton.jit
def remainder(a, b):
    """With the sign of b, as torch.remainder."""
    r = fmod(a, b)
    if a.dtype.is_int_unsigned():
        return r
    else:
        return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


@triton.jit
def floor_div(a, b):
    if a.dtype.is_floating():
        # As c10::div_floor_floating: the quotient of the part that b divides, then the nearest integer at or below.
        rest = libdevice.fmod(a, b)
        quotient = div(a - rest, b)
        quotient = tl.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1.0, quotient)
        floored = tl.math.floor(quotient)
        floored = tl.where(quotient - floored > 0.5, floored + 1.0, floored)
        return tl.where(b == 0, div(a, b), tl.where(quotient == 0, copysign(quotient, div(a, b)), floored))
    else:
        quotient = trunc_div(a, b)
        rest = fmod(a, b)
        if a.dtype.is_int_unsigned():
            return quotient
        else:
            return tl.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)


@triton.jit
def shift_left(a, n, bits: tl.constexpr):
    fits = (n >= 0) & (n < bits)
    return tl.where(fits, a << tl.where(fits, n, tl.zeros_like(n)), tl.zeros_like(a))


@triton.jit
def shift_right(a, n, bits: tl.constexpr):
    fits = (n >= 0) & (n < bits)
    if a.dtype.is_int_unsigned():
        return tl.where(fits, a >> tl.where(fits, n, tl.zeros_like(n)), tl.zeros_like(a))
    else:
        return a >> tl.where(fits, n, tl.full([], bits - 1, n.dtype))


@triton.jit
def log2(a):
    return tl.math.log2(a)


@triton.jit
def trunc(a):
    return libdevice.trunc(a)


@triton.jit
def round(a):
    return libdevice.nearbyint(a)


@triton.jit
def pow(a, b):
    if a.dtype.is_floating():
        return libdevice.pow(a, b)
    else:
        result = tl.full(a.shape, 1, a.dtype)
        base = a
        exponent = b
        for _ in range(64):
            result = tl.where((exponent & 1) != 0, result * base, result)
            base = base * base
            exponent = exponent >> 1
        if a.dtype.is_int_unsigned():
            return result
        else:  # 1 / a, towards zero
            inverse = tl.where(a == 1, 1, tl.where(a == -1, tl.where((b & 1) != 0, -1, 1), 0))
            return tl.where(b < 0, inverse, result).to(a.dtype)


@triton.jit
def tanh(a):
    return libdevice.tanh(a)


@triton.jit
def expm1(a):
    return libdevice.expm1(a)


@triton.jit
def log1p(a):
    return libdevice.log1p(a)


@triton.jit
def log10(a):
    return libdevice.log10(a)


@triton.jit
def tan(a):
    return libdevice.tan(a)


@triton.jit
def asin(a):
    return libdevice.asin(a)


@triton.jit
def acos(a):
    return libdevice.acos(a)


@triton.jit
def atan(a):
    return libdevice.atan(a)


@triton.jit
def sinh(a):
    return libdevice.sinh(a)


@triton.jit
def cosh(a):
    return libdevice.cosh(a)


@triton.jit
def asinh(a):
    return libdevice.asinh(a)


@triton.jit
def acosh(a):
    return libdevice.acosh(a)


@triton.jit
def atanh(a):
    return libdevice.atanh(a)


@triton.jit
def erfc(a):
    return libdevice.erfc(a)


@triton.jit
def erfinv(a):
    return libdevice.erfinv(a)


@triton.jit
def lgamma(a):
    return libdevice.lgamma(a)


@triton.jit
def digamma(a):
    """By the recurrence psi(x) = psi(x + 1) - 1 / x up to 10 and the asymptotic series there, in float64; below 0 by reflection."""
    x = a.to(tl.float64)
    whole = tl.where(x < 0, tl.ceil(x), tl.floor(x))
    part = 3.141592653589793 * (x - whole)
    reflected = tl.where(part == 0, float("nan"), -3.141592653589793 * tl.cos(part) / tl.where(part == 0, 1.0, tl.sin(part)))
    result = tl.where(x < 0, reflected, 0.0)
    y = tl.where(x < 0, 1.0 - x, x)
    y = tl.where(x == 0, 1.0, y)
    for _ in range(10):
        small = y < 10.0
        result = tl.where(small, result - 1.0 / y, result)
        y = tl.where(small, y + 1.0, y)
    z = 1.0 / (y * y)
    series = 1.0 / 132 - z * (691.0 / 32760 - z / 12)
    series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * series))))
    result = tl.where(x == float("inf"), x, result + tl.log(y) - 0.5 / y - series)
    pole = tl.where(signbit(x), float("inf"), float("-inf"))
    return tl.where(x == 0, pole, result).to(a.dtype)


@triton.jit
def atan2(a, b):
    return libdevice.atan2(a, b)


@triton.jit
def hypot(a, b):
    return libdevice.hypot(a, b)


@triton.jit
def nextafter(a, b):
    return libdevice.nextafter(a, b)


@triton.jit
def _four_words(seed, counter):
    low = (counter & 0xFFFFFFFF).to(tl.uint32)
    high = (counter >> 32).to(tl.uint32)
    return tl.philox(seed, low, high, tl.zeros_like(low), tl.zeros_like(low))


@triton.jit
def random_uint(seed, offset):
    """Word offset % 4 of the four for the counter offset / 4. Threads hold neighbours, whose equal counters the compiler sees."""
    w0, w1, w2, w3 = _four_words(seed, offset >> 2)
    lane = offset & 3
    return tl.where(lane < 2, tl.where(lane == 0, w0, w1), tl.where(lane == 2, w2, w3))


# ---- indices ----


@triton.jit
def check_index(index, extent, wanted, error):
    """The index wrapped to [0, extent); an index outside is reported (code, index, extent) and becomes 0."""
    fits = (index >= -extent) & (index < extent)
    bad = wanted & (fits == 0)
    where = error + tl.zeros_like(index)
    tl.store(where + 1, index, mask=bad)
    tl.store(where + 2, tl.zeros_like(index) + extent, mask=bad)
    tl.store(where, tl.full([], 1, tl.int64) + tl.zeros_like(index), mask=bad)
    return tl.where(fits, tl.where(index < 0, index + extent, index), tl.zeros_like(index))


@triton.jit
def assert_true(condition, code, wanted, error):
    bad = wanted & (condition == 0)
    tl.store(error + bad.to(tl.int32) * 0, bad.to(tl.int64) * 0 + code, mask=bad)


@triton.jit
def index_floor_div(a, b):
    q = a // b
    return tl.where((a % b != 0) & ((a < 0) != (b < 0)), q - 1, q)


@triton.jit
def index_mod(a, b):
    r = a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


# ---- the programs of a launch ----


@triton.jit
def comes_last(counter, counted):
    """Whether all other programs have come here, so that what they wrote can be read; asked once by each. `counted`: what the counter was
    when the first one came. No program waits for another."""
    tl.debug_barrier()  # what the block's other threads wrote comes before the addition
    earlier = tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu")
    tl.debug_barrier()  # and what other blocks wrote can be read by all threads
    return earlier == counted + tl.num_programs(0) - 1


@triton.jit
def is_last_program(counter, counted):
    """The same, as the last of all questions: the counter is set back to 0, as it was before the launch."""
    is_last = comes_last(counter, counted)
    tl.store(counter, 0, mask=is_last)
    return is_last


@triton.jit
def let_go(counter):
    """What the program that came last has written since can be read by those that wait for one more than came."""
    tl.debug_barrier()
    tl.atomic_add(counter, 1, sem="release", scope="gpu")


@triton.jit
def wait_for(counter, count):
    """Only for programs that all run at the same time."""
    while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < count:
        pass
    tl.debug_barrier()


# ---- reductions: over dimension `dim`, kept with size 1 where `keep` ----


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def _mul(a, b):
    return a * b


@triton.jit
def _or(a, b):
    return a | b


@triton.jit
def _and(a, b):
    return a & b


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def reduce_sum(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a, dim, _add, keep_dims=keep)


@triton.jit
def reduce_prod(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a, dim, _mul, keep_dims=keep)


@triton.jit
def reduce_min(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a, dim, least, keep_dims=keep)


@triton.jit
def reduce_max(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a, dim, greatest, keep_dims=keep)


@triton.jit
def reduce_xor(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a, dim, _xor, keep_dims=keep)


@triton.jit
def reduce_any(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a.to(tl.int32), dim, _or, keep_dims=keep) != 0


@triton.jit
def reduce_all(a, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce(a.to(tl.int32), dim, _and, keep_dims=keep) != 0


@triton.jit
def better_min(a, i, b, j):
    """The smaller, NaN before numbers; of equal ones the one with the lower index."""
    a_nan = a != a
    b_nan = b != b
    same = (a == b) | (a_nan & b_nan)
    first = (a < b) & (b_nan == 0) | (a_nan & (b_nan == 0)) | (same & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def better_max(a, i, b, j):
    """The larger, NaN before numbers; of equal ones the one with the lower index."""
    a_nan = a != a
    b_nan = b != b
    same = (a == b) | (a_nan & b_nan)
    first = (a > b) & (b_nan == 0) | (a_nan & (b_nan == 0)) | (same & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def reduce_min_index(a, i, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce((a, i), dim, better_min, keep_dims=keep)


@triton.jit
def reduce_max_index(a, i, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce((a, i), dim, better_max, keep_dims=keep)


@triton.jit
def scan_min(a, i, b, j):
    """Running minimum: the later of equal ones, as eager's cummin."""
    later = (b <= a) | (b != b)
    return tl.where(later, b, a), tl.where(later, j, i)


@triton.jit
def scan_max(a, i, b, j):
    later = (b >= a) | (b != b)
    return tl.where(later, b, a), tl.where(later, j, i)


@triton.jit
def scan_sum(a, dim: tl.constexpr):
    return tl.cumsum(a, dim)


@triton.jit
def scan_product(a, dim: tl.constexpr):
    return tl.cumprod(a, dim)


@triton.jit
def scan_minima(a, i, dim: tl.constexpr):
    return tl.associative_scan((a, i), dim, scan_min)


@triton.jit
def scan_maxima(a, i, dim: tl.constexpr):
    return tl.associative_scan((a, i), dim, scan_max)


@triton.jit
def scan_log_sum_exp(a, dim: tl.constexpr):
    """Pairs (m, s), each for s * exp(m)."""
    return tl.associative_scan((a, tl.full(a.shape, 1.0, a.dtype)), dim, log_sum_exp_join)


@triton.jit
def sort_rows(a, i, descending: tl.constexpr):
    """Values and their places, in order along the last dimension: of equal ones the earlier first, NaN the largest, places that are no
    index (over 2^30) last. Value and place are sorted as one integer; its last bit tells -0.0, which equals 0.0."""
    mark = tl.zeros_like(i)
    if a.dtype == tl.float32:
        bits = a.to(tl.int32, bitcast=True)
        key = tl.where(a == 0.0, 0, tl.where(a != a, 0x7FFFFFFF, tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)))
        mark = ((a == 0.0) & (bits != 0)).to(tl.int64)
    else:
        key = a.to(tl.int32)
    if descending:
        key = ~key
    joined = (key.to(tl.int64) << 32) | (i << 1) | mark
    joined = tl.sort(tl.where(i > 0x3FFFFFFF, 0x7FFFFFFFFFFFFFFF, joined))
    key = (joined >> 32).to(tl.int32)
    if descending:
        key = ~key
    place = (joined & 0xFFFFFFFF) >> 1
    if a.dtype == tl.float32:
        bits = tl.where((joined & 1) != 0, -0x80000000, tl.where(key < 0, key ^ 0x7FFFFFFF, key))
        return bits.to(tl.float32, bitcast=True), place
    else:
        return key.to(a.dtype), place


@triton.jit
def last(a, is_last, dim: tl.constexpr):
    """The one value along `dim` that `is_last` marks, bit for bit, in a dimension of one element."""
    if a.dtype == tl.float32:
        return tl.sum(tl.where(is_last, a.to(tl.int32, bitcast=True), 0), dim, keep_dims=True).to(tl.float32, bitcast=True)
    elif a.dtype == tl.float64:
        return tl.sum(tl.where(is_last, a.to(tl.int64, bitcast=True), 0), dim, keep_dims=True).to(tl.float64, bitcast=True)
    else:
        return tl.sum(tl.where(is_last, a, tl.zeros_like(a)), dim, keep_dims=True).to(a.dtype)


@triton.jit
def finite_or_zero(a):
    return tl.where(tl.abs(a) == float("inf"), tl.zeros_like(a), a)


@triton.jit
def exp_difference(a, b):
    """exp(a - b) where equal infinities differ by nothing."""
    return tl.where(a == b, tl.full([], 1.0, a.dtype), tl.exp(a - b))


@triton.jit
def log_sum_exp_step(m, s, v):
    """(m, s) stands for s * exp(m); v is added."""
    larger = greatest(m, v)
    return larger, s * exp_difference(m, larger) + exp_difference(v, larger)


@triton.jit
def log_sum_exp_join(m, s, n, t):
    """(m, s) stands for s * exp(m); (n, t) is added."""
    larger = greatest(m, n)
    return larger, s * exp_difference(m, larger) + t * exp_difference(n, larger)


@triton.jit
def max_and_exp_sum_step(m, s, v):
    """m and s stand for a maximum and a sum of exp(value - m) over lanes; the last dimension of v is added to each lane.

    Lanes that saw nothing but -inf have the sum 0; with a maximum of inf the sum is NaN, as if the maximum had come first.
    """
    larger = greatest(m, tl.reduce(v, len(v.shape) - 1, greatest))
    base = tl.where(larger == float("-inf"), 0.0, larger)
    terms = tl.exp(v - tl.expand_dims(base, len(v.shape) - 1))
    return larger, s * tl.exp(m - base) + tl.reduce(terms, len(v.shape) - 1, _add)


@triton.jit
def welford_step(mean, m2, count, v):
    count = count + 1.0
    delta = v - mean
    mean = mean + delta / count
    return mean, m2 + delta * (v - mean), count


@triton.jit
def _welford_join(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, tl.zeros_like(count), count_b / tl.where(count == 0.0, tl.full([], 1.0, count.dtype), count))
    delta = mean_b - mean_a
    between = tl.where(count_a * share == 0.0, tl.zeros_like(delta), delta * delta * count_a * share)  # an empty part adds nothing, not inf * 0
    return mean_a + delta * share, m2_a + m2_b + between, count


@triton.jit
def reduce_welford(mean, m2, count, dim: tl.constexpr, keep: tl.constexpr):
    return tl.reduce((mean, m2, count), dim, _welford_join, keep_dims=keep)
