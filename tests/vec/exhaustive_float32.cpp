// Measures every float32 function of the vector header against double precision over float inputs: all 2^32 for the
// eight that must stay within 2 ulp, every input or a stride through them for the others, whose bound is eager's worst.
// Usage: exhaustive_float32 [--stride n] [function ...]     prints a line a function; exits 1 if a bound is exceeded.
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "litz/codegen/cpp/runtime_header/vec.h"

namespace {

#if defined(__AVX512F__)
constexpr int W = 16;
#else
constexpr int W = 8;
#endif
using F = litz::Vec<float, W>;
using D = litz::Vec<double, 4>;
using Float8 = void (*)(const float* x, float* y, int count);
using Reference = void (*)(const float* x, double* y, int count);

constexpr int kBatch = 4096;

#define OURS(name)                                                                                                          \
  [](const float* x, float* y, int count) {                                                                                 \
    for (int i = 0; i < count; i += W) litz::store(litz::Full<W>{}, y + i, litz::name(litz::load(litz::Full<W>{}, x + i))); \
  }

#define OURS_WITH(name, y_value)                                                                                                        \
  [](const float* x, float* y, int count) {                                                                                             \
    for (int i = 0; i < count; i += W) litz::store(litz::Full<W>{}, y + i, litz::name(litz::load(litz::Full<W>{}, x + i), (F)y_value)); \
  }

// The reference: the C library in double precision, its vector functions (4 ulp of double) where there are any.
#if defined(__AVX2__) && defined(__GLIBC__)
#define VECTOR_REFERENCE(expression)                              \
  [](const float* p, double* y, int count) {                      \
    for (int i = 0; i < count; i += 4) {                          \
      litz::Vec<float, 4> f = litz::load(litz::Full<4>{}, p + i); \
      D x = litz::convert<double>(f), r = expression;             \
      litz::store(litz::Full<4>{}, y + i, r);                     \
    }                                                             \
  }
extern "C" {
D _ZGVdN4v_exp(D);
D _ZGVdN4v_log(D);
D _ZGVdN4v_sin(D);
D _ZGVdN4v_cos(D);
D _ZGVdN4v_tanh(D);
D _ZGVdN4v_erf(D);
}
#define LIBM(name, x) _ZGVdN4v_##name(x)
// sin and cos from 2^23 up, where the C library's reduction would take minutes: x = m 2^e; the fraction of a turn is m
// times the bits of 1/(2 pi) below weight 2^-e, exact to 128 bits. "sin glibc" and "cos glibc" check this reference
// against the library.
double reduced(double x) {
  constexpr uint64_t turn[] = {0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410, 0x7f9458eaf7aef158, 0x6dc91b8e909374b8};
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int e = (int)(bits >> 52 & 2047) - 1023 - 23;
  if (e < 0 || e > 104) return x;
  uint64_t m = (bits >> 29 & 0x7fffff) | 0x800000;
  auto at = [&](int k) {
    int word = k / 64, shift = k % 64;
    return shift ? turn[word] << shift | turn[word + 1] >> (64 - shift) : turn[word];
  };
  unsigned __int128 fraction = ((unsigned __int128)at(e) << 64 | at(e + 64)) * m;
  double r = (double)(int64_t)(uint64_t)(fraction >> 64) * 0x1p-64 * 6.283185307179586477;
  return bits >> 63 ? -r : r;
}
D reduced(D x) {
  D r = x;
  if (__builtin_reduce_or(__builtin_elementwise_abs(x) >= 0x1p23))
    for (int j = 0; j < 4; j++) r[j] = reduced((double)x[j]);
  return r;
}
#define REDUCED(x) reduced(x)
#else
#define VECTOR_REFERENCE(expression)         \
  [](const float* p, double* y, int count) { \
    for (int i = 0; i < count; i++) {        \
      double x = p[i];                       \
      y[i] = expression;                     \
    }                                        \
  }
#define LIBM(name, x) std::name(x)
#define REDUCED(x) x
#endif
// beyond these bounds exp is 0 or infinite in float; NaN stays
template <class X>
X limited(X x) {
  x = x > 200 ? (X)200 : x;
  return x < -200 ? (X)-200 : x;
}
#define SCALAR_REFERENCE(expression)         \
  [](const float* p, double* y, int count) { \
    for (int i = 0; i < count; i++) {        \
      double x = p[i];                       \
      y[i] = expression;                     \
    }                                        \
  }

#define OTHER(name, bound) {#name, OURS(name), SCALAR_REFERENCE(std::name(x)), bound, 257}

// By Newton's method on the C library's erf and erfc, from Winitzki's formula.
double inverse_erf(double x) {
  double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * INFINITY : NAN;
  double l = std::log1p(-a * a), h = 2 / (M_PI * 0.147) + l / 2, y = std::sqrt(std::sqrt(h * h - l / 0.147) - h);
  if (a < 1e-4) y = a * 0.886226925452758;
  for (int step = 0; step < 5; step++) {
    double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= error * 0.886226925452758 * std::exp(y * y);
  }
  return std::copysign(y, x);
}

struct Function {
  const char* name;
  Float8 ours;
  Reference reference;
  double bound;      // in ulp
  uint64_t stride;   // 1: every input
  int symmetry = 0;  // 1 even, -1 odd: then negative inputs need only give the same bits, but for the sign
};

const Function kFunctions[] = {
    {"exp", OURS(exp), VECTOR_REFERENCE(LIBM(exp, limited(x))), 2, 1},
    {"log", OURS(log), VECTOR_REFERENCE(x < 0 ? (decltype(x))NAN : LIBM(log, __builtin_elementwise_abs(x))), 2, 1},
    {"tanh", OURS(tanh), VECTOR_REFERENCE(LIBM(tanh, x)), 2, 1, -1},
    {"erf", OURS(erf), VECTOR_REFERENCE(LIBM(erf, x)), 2, 1, -1},
    {"sigmoid", OURS(sigmoid), VECTOR_REFERENCE(1 / (1 + LIBM(exp, limited(-x)))), 2, 1},
    {"rsqrt", OURS(rsqrt), VECTOR_REFERENCE(1 / __builtin_elementwise_sqrt(x)), 2, 1},
    {"sin", OURS(sin), VECTOR_REFERENCE(LIBM(sin, REDUCED(x))), 2, 1, -1},
    {"cos", OURS(cos), VECTOR_REFERENCE(LIBM(cos, REDUCED(x))), 2, 1, 1},
    {"sin glibc", OURS(sin), SCALAR_REFERENCE(std::sin(x)), 2, 257},
    {"cos glibc", OURS(cos), SCALAR_REFERENCE(std::cos(x)), 2, 257},
    // rounded once from double
    OTHER(tan, 0.501),
    OTHER(asin, 0.501),
    OTHER(acos, 0.501),
    OTHER(atan, 0.501),
    OTHER(sinh, 0.501),
    OTHER(cosh, 0.501),
    OTHER(asinh, 0.501),
    OTHER(acosh, 0.501),
    OTHER(atanh, 0.501),
    OTHER(exp2, 0.501),
    OTHER(expm1, 0.501),
    OTHER(log2, 0.501),
    OTHER(log10, 0.501),
    OTHER(log1p, 0.501),
    OTHER(erfc, 0.501),
    OTHER(lgamma, 0.501),
    {"sqrt", OURS(sqrt), SCALAR_REFERENCE(std::sqrt(x)), 0.5, 257},
    {"reciprocal", OURS(reciprocal), SCALAR_REFERENCE(1 / x), 0.5, 257},
    {"erfinv", OURS(erfinv), SCALAR_REFERENCE(inverse_erf(x)), 0.501, 257},
    {"pow 3", OURS_WITH(pow, 3.0f), SCALAR_REFERENCE(std::pow(x, 3.0)), 0.501, 257},
    {"pow -2.7", OURS_WITH(pow, -2.7f), SCALAR_REFERENCE(std::pow(x, (double)-2.7f)), 0.501, 257},
    {"pow 0.33", OURS_WITH(pow, 0.33f), SCALAR_REFERENCE(std::pow(x, (double)0.33f)), 0.501, 257},
    {"atan2 1.5", OURS_WITH(atan2, 1.5f), SCALAR_REFERENCE(std::atan2(x, 1.5)), 0.501, 257},
    {"atan2 -1e9", OURS_WITH(atan2, -1e9f), SCALAR_REFERENCE(std::atan2(x, (double)-1e9f)), 0.501, 257},
    {"hypot 2", OURS_WITH(hypot, 2.0f), SCALAR_REFERENCE(std::hypot(x, 2.0)), 0.501, 257},
    {"fmod 3", OURS_WITH(fmod, 3.0f), SCALAR_REFERENCE(std::fmod(x, 3.0)), 0, 257},
    {"fmod 0.7", OURS_WITH(fmod, 0.7f), SCALAR_REFERENCE(std::fmod(x, (double)0.7f)), 0, 257},
    {"fmod -5e-42", OURS_WITH(fmod, -5e-42f), SCALAR_REFERENCE(std::fmod(x, (double)-5e-42f)), 0, 257},
};

// |got - exact| in units of the last place of the exact value as a float. One NaN of two or a wrong sign is infinite.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  if (std::signbit(got) != std::signbit(exact)) return INFINITY;
  double limited = std::fmin(std::fabs(exact), 0x1p128), mine = std::fmin(std::fabs((double)got), 0x1p128);
  if (limited == 0x1p128) return mine == limited ? 0 : (limited - mine) * 0x1p-104;
  int exponent = std::max(limited == 0 ? -1000 : std::ilogb(limited), -126);
  return std::fabs(mine - limited) / std::ldexp(1.0, exponent - 23);
}
// The same for four values at once, with a sentinel for what the slow form has to judge.
D quick_ulps(D got, D exact) {
  using litz::as;
  using I = litz::Vec<long, 4>;
  D unit = as<double>((I)(as<long>(exact) & 0x7ff0000000000000)) * 0x1p-23;
  unit = unit < 0x1p-149 ? (D)0x1p-149 : unit;
  D error = __builtin_elementwise_abs(got - exact) / unit;
  I odd = (as<long>(got) ^ as<long>(exact)) < 0;
  return odd | ~(error <= 1e6) ? (D)1e30 : error;
}

struct Worst {
  double ulps = 0;
  float input = 0, got = 0;
  double exact = 0;
};

Worst measure(const Function& f, uint64_t stride) {
  std::atomic<uint64_t> next{0};
  Worst worst;
  std::mutex lock;
  uint64_t inputs = (uint64_t{1} << (f.symmetry ? 31 : 32)) / stride;
  auto work = [&] {
    alignas(64) float x[kBatch], y[kBatch];
    alignas(64) double r[kBatch];
    Worst mine;
    for (;;) {
      uint64_t start = next.fetch_add(kBatch);
      if (start >= inputs + kBatch) break;
      for (int i = 0; i < kBatch; i++) {
        // the last batch: the four values on each side of every power of two, of 0, infinity and the NaNs
        uint32_t bits = start >= inputs ? (uint32_t)(i / 8 << 23) + i % 8 - 4 : (uint32_t)((start + i) * stride);
        std::memcpy(&x[i], &bits, 4);
      }
      f.ours(x, y, kBatch);
      if (f.symmetry) {
        alignas(64) float opposite[kBatch], z[kBatch];
        for (int i = 0; i < kBatch; i++) opposite[i] = -x[i];
        f.ours(opposite, z, kBatch);
        uint32_t different = 0;
        for (int i = 0; i < kBatch; i++) {
          float expected = f.symmetry > 0 ? y[i] : -y[i];
          different |= (std::bit_cast<uint32_t>(z[i]) ^ std::bit_cast<uint32_t>(expected)) & (z[i] == z[i] ? ~0u : 0u);
        }
        if (different) mine = {INFINITY, x[0], z[0], f.symmetry * (double)y[0]};
      }
      f.reference(x, r, kBatch);
      D most = 0;
      for (int i = 0; i < kBatch; i += 4) {
        D got = litz::convert<double>(litz::load(litz::Full<4>{}, y + i)), exact = litz::load(litz::Full<4>{}, r + i);
        D u = quick_ulps(got, exact);
        most = u > most ? u : most;
      }
      if (std::fmax(std::fmax(most[0], most[1]), std::fmax(most[2], most[3])) <= mine.ulps) continue;
      for (int i = 0; i < kBatch; i++) {
        double u = ulps(y[i], r[i]);
        if (u > mine.ulps) mine = {u, x[i], y[i], r[i]};
      }
    }
    std::lock_guard guard(lock);
    if (mine.ulps > worst.ulps) worst = mine;
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); i++) threads.emplace_back(work);
  for (auto& t : threads) t.join();
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  bool ok = true;
  uint64_t least_stride = 1;
  if (argc > 2 && !std::strcmp(argv[1], "--stride")) {
    least_stride = std::strtoull(argv[2], nullptr, 10);
    argv += 2;
    argc -= 2;
  }
  for (const Function& f : kFunctions) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; i++) wanted |= !std::strcmp(argv[i], f.name);
    if (!wanted) continue;
    auto start = std::chrono::steady_clock::now();
    Worst w = measure(f, std::max(f.stride, least_stride));
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bool good = w.ulps <= f.bound;
    ok &= good;
    std::printf("%-10s %8.4f ulp (bound %g) at %a = %.9g: %a, exact %a  [%.1f s]%s\n", f.name, w.ulps, f.bound, w.input, w.input, w.got,
                w.exact, seconds, good ? "" : "  TOO MUCH");
    std::fflush(stdout);
  }
  return ok ? 0 : 1;
}
