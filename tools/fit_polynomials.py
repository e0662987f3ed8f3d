#!/usr/bin/env python3
"""Derives the polynomial coefficients of the vector header (src/litz/codegen/cpp/runtime_header).

Each entry of TABLE names a function g, an interval, the degree and the weight of the error; the fit minimises
max |weight(x) * (p(x) - g(x))| over a dense grid, with residuals in 60-digit arithmetic. Coefficients are then rounded to the
target precision from the lowest power up, and the remaining ones are fitted again after each rounding.
Usage: fit_polynomials.py [name ...]   prints coefficients, lowest power first, and the error that remains.
"""
import struct
import sys

import mpmath as mp
import numpy as np
import scipy.optimize

mp.mp.dps = 60


def to_float32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_float64(x):
    return mp.mpf(float(x))


def chebyshev(count, low, high):
    """The first Chebyshev polynomials of [low, high], each as its coefficients, lowest power first."""
    slope, offset = 2 / (high - low), -(high + low) / (high - low)
    out = [[mp.mpf(1)], [offset, slope]]
    while len(out) < count:
        last, before = out[-1], out[-2] + [mp.mpf(0)] * 2
        doubled = [2 * (offset * a + slope * b) for a, b in zip(last + [mp.mpf(0)], [mp.mpf(0)] + last)]
        out.append([a - b for a, b in zip(doubled, before)])
    return out[:count]


def minimax(g, weight, grid, powers, fixed):
    """Coefficients of the consecutive `powers` that minimise max |weight * (p - g)| over the grid: a linear program on the
    residual in Chebyshev's basis, scaled to about one and solved again on what remains, so that double precision is enough for each step."""
    first, terms = powers[0], chebyshev(len(powers), min(grid), max(grid))
    weights = [weight(x) for x in grid]
    basis = np.array([[float(w * x**first * mp.polyval(t[::-1], x)) for t in terms] for x, w in zip(grid, weights)])
    column = np.abs(basis).max(axis=0)
    basis /= column
    targets = [g(x) for x in grid]
    result = {p: mp.mpf(0) for p in powers}
    for step in range(4):
        total = {**fixed, **result}
        residual = [w * (t - sum(c * x**p for p, c in total.items())) for x, w, t in zip(grid, weights, targets)]
        size = max(abs(r) for r in residual)
        right = np.array([float(r / size) for r in residual])
        if step == 0:
            change = np.linalg.lstsq(basis, right, rcond=None)[0]
        else:
            ones = np.ones((len(grid), 1))
            answer = scipy.optimize.linprog(np.r_[np.zeros(len(powers)), 1], A_ub=np.block([[basis, -ones], [-basis, -ones]]),
                                            b_ub=np.r_[right, -right], bounds=(None, None), method="highs")
            if answer.x is None or answer.x[-1] >= 0.999:
                break
            change = answer.x[:-1]
        for delta, unit, term in zip(change, column, terms):
            for power, c in enumerate(term):
                result[first + power] += mp.mpf(float(delta)) * size / mp.mpf(float(unit)) * c
    return result


def fit(g, weight, low, high, powers, fixed=None, rounding=to_float32):
    low, high, fixed, free = mp.mpf(low), mp.mpf(high), dict(fixed or {}), list(powers)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / 300) for i in range(300)]
    while free:
        fixed[free[0]] = rounding(minimax(g, weight, grid, free, fixed)[free[0]])
        free = free[1:]
    return fixed, max(abs(weight(x) * (g(x) - sum(c * x**p for p, c in fixed.items()))) for x in grid)


one = lambda x: mp.mpf(1)


def at(value, function):
    """function, with the limit `value` at 0."""
    return lambda x: mp.mpf(value) if x == 0 else function(x)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) * (1 + x)


def inverse_erf_ratio(w):
    """erfinv(x) / x as a function of w = -log(1 - x^2)."""
    if w < mp.mpf("1e-30"):
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


LN2 = mp.log(2)
HALF_LN2 = LN2 / 2
QUARTER_PI = mp.pi / 4

TABLE = {
    # exp(r) on |r| <= ln2 / 2, the first two coefficients given
    "exp_float": dict(g=mp.exp, weight=one, low=-HALF_LN2 * 1.001, high=HALF_LN2 * 1.001, powers=range(2, 7), fixed={0: mp.mpf(1), 1: mp.mpf(1)}),
    # (log1p(f) - f + f^2/2) / f^3 for the mantissa in [sqrt(1/2), sqrt(2)]
    "log_float": dict(g=at(mp.mpf(1) / 3, lambda f: (mp.log1p(f) - f + f * f / 2) / f**3), weight=lambda f: f * f, low=mp.sqrt(0.5) - 1, high=mp.sqrt(2) - 1, powers=range(0, 7)),
    # sin(r) = r + r^3 P(r^2), cos(r) = 1 - r^2/2 + r^4 Q(r^2) on |r| <= pi/4, in z = r^2
    "sin_float": dict(g=at(-mp.mpf(1) / 6, lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z), weight=lambda z: z, low=0, high=QUARTER_PI**2 * 1.001, powers=range(0, 4)),
    "cos_float": dict(g=at(mp.mpf(1) / 24, lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2), weight=lambda z: z**2, low=0, high=QUARTER_PI**2 * 1.001, powers=range(0, 4)),
    # (tanh(x) / x - 1) / x^2 in z = x^2; beyond, tanh comes from exp
    "tanh_float": dict(g=at(-mp.mpf(1) / 3, lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z), weight=lambda z: z, low=0, high=0.36, powers=range(0, 5)),
    # erf(x) / x - 1 in z = x^2, for |x| < 1
    "erf_float": dict(g=at(2 / mp.sqrt(mp.pi) - 1, lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1), weight=one, low=0, high=1, powers=range(0, 7)),
    # -log(erfc(x)) for x in [1, 4]: erf(x) = 1 - exp(-q(x)); the error of q matters times erfc(x)
    "erfc_float": dict(g=lambda x: -mp.log(mp.erfc(x)), weight=lambda x: mp.erfc(x) / mp.erf(x), low=1, high=4, powers=range(0, 6)),
    # What follows is evaluated in double and rounded to float once: about 2^-36 is enough, more where a result is scaled up.
    "exp_double": dict(g=mp.exp, weight=one, low=-HALF_LN2 * 1.001, high=HALF_LN2 * 1.001, powers=range(2, 9), fixed={0: mp.mpf(1), 1: mp.mpf(1)}, rounding=to_float64),
    # log((1 + s) / (1 - s)) / s in z = s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)
    "log_double": dict(g=at(2, lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z)), weight=one, low=0, high=0.02945, powers=range(1, 7), fixed={0: mp.mpf(2)}, rounding=to_float64),
    # atan(x) / x in z = x^2
    "atan_double": dict(g=at(1, lambda z: mp.atan(mp.sqrt(z)) / mp.sqrt(z)), weight=one, low=0, high=1, powers=range(1, 13), fixed={0: mp.mpf(1)}, rounding=to_float64),
    "sin_double": dict(g=at(1, lambda z: mp.sin(mp.sqrt(z)) / mp.sqrt(z)), weight=one, low=0, high=QUARTER_PI**2 * 1.001, powers=range(1, 6), fixed={0: mp.mpf(1)}, rounding=to_float64),
    "cos_double": dict(g=lambda z: mp.cos(mp.sqrt(z)), weight=one, low=0, high=QUARTER_PI**2 * 1.001, powers=range(1, 6), fixed={0: mp.mpf(1)}, rounding=to_float64),
    # exp(x^2) erfc(x) (1 + x) in t = (x - 2) / (x + 2), x in [0, inf)
    "erfcx_double": dict(g=lambda t: erfcx(2 * (1 + t) / (1 - t)), weight=lambda t: 1 / erfcx(2 * (1 + t) / (1 - t)), low=-1, high=mp.mpf("0.685"), powers=range(0, 15), rounding=to_float64),
    # erfinv(x) / x in w = -log(1 - x^2): a polynomial in w - 2.5 below 5, in sqrt(w) - 3 above
    "erfinv_near": dict(g=lambda v: inverse_erf_ratio(v + mp.mpf("2.5")), weight=lambda v: 1 / inverse_erf_ratio(v + mp.mpf("2.5")), low=-2.5, high=2.5, powers=range(0, 14), rounding=to_float64),
    "erfinv_far": dict(g=lambda v: inverse_erf_ratio((v + 3) ** 2), weight=lambda v: 1 / inverse_erf_ratio((v + 3) ** 2), low=mp.sqrt(5) - 3, high=1.01, powers=range(0, 14), rounding=to_float64),
    # What follows is for float64 functions: errors below 2^-56 of the result.
    "exp_float64": dict(g=mp.exp, weight=one, low=-HALF_LN2 * 1.001, high=HALF_LN2 * 1.001, powers=range(3, 12), fixed={0: mp.mpf(1), 1: mp.mpf(1), 2: mp.mpf(0.5)}, rounding=to_float64),
    # (log((1 + s) / (1 - s)) / s - 2) / z in z = s^2
    "log_float64": dict(g=at(mp.mpf(2) / 3, lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z), weight=lambda z: z / 2, low=0, high=0.02945, powers=range(0, 7), rounding=to_float64),
    # one power more taken off, for the exponent of pow: 2^-66
    "pow_float64": dict(g=at(mp.mpf(2) / 5, lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2 - 2 * z / 3) / z**2), weight=lambda z: z**2 / 2, low=0, high=0.02945, powers=range(0, 7), rounding=to_float64),
    "sin_float64": dict(g=at(-mp.mpf(1) / 6, lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z), weight=lambda z: z, low=0, high=QUARTER_PI**2 * 1.001, powers=range(0, 6), rounding=to_float64),
    "cos_float64": dict(g=at(mp.mpf(1) / 24, lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2), weight=lambda z: z**2, low=0, high=QUARTER_PI**2 * 1.001, powers=range(0, 6), rounding=to_float64),
    # (atan(v) / v - 1) / z up to tan(pi/8), (asin(v) / v - 1) / z up to 1/2
    "atan_float64": dict(g=at(-mp.mpf(1) / 3, lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z), weight=lambda z: z, low=0, high=0.1718, powers=range(0, 11), rounding=to_float64),
    "asin_float64": dict(g=at(mp.mpf(1) / 6, lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z), weight=lambda z: z, low=0, high=0.2501, powers=range(0, 13), rounding=to_float64),
    # erf(x) / x - 1 in z = x^2 for |x| < 1
    "erf_float64": dict(g=at(2 / mp.sqrt(mp.pi) - 1, lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1), weight=one, low=0, high=1, powers=range(0, 13), rounding=to_float64),
    # -log(erfc(v + 1)) for arguments in [1, 6]: its error matters times erfc
    "erf_tail_float64": dict(g=lambda v: -mp.log(mp.erfc(v + 1)), weight=lambda v: max(mp.erfc(v + 1), mp.mpf("1e-9")), low=0, high=mp.mpf("4.95"), powers=range(0, 20), rounding=to_float64),
    # exp(x^2) erfc(x) (1 + x) in t = (x - 2) / (x + 2), x in [1/2, 28]
    "erfc_float64": dict(g=lambda t: erfcx(2 * (1 + t) / (1 - t)), weight=lambda t: 1 / erfcx(2 * (1 + t) / (1 - t)), low=mp.mpf("-0.6"), high=mp.mpf(26) / 30, powers=range(0, 23), rounding=to_float64),
}


def main(names):
    for name in names or TABLE:
        fixed, final = fit(**TABLE[name])
        rounding = TABLE[name].get("rounding", to_float32)
        print(f"{name}: error {mp.nstr(final, 4)} (2^{mp.nstr(mp.log(final, 2), 4)})")
        for power in sorted(fixed):
            print(f"  x^{power:<2} {float(fixed[power]):.9g}" if rounding is to_float32 else f"  x^{power:<2} {float(fixed[power]):.17g}")


if __name__ == "__main__":
    main(sys.argv[1:])
