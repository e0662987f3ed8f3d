// Measures the float64 functions of the vector header against the C library's long double functions: random mantissas of
// both signs in every binade, dense samples where each function is hard (near its zeros, near overflow and underflow,
// near multiples of pi/2), and all special values. One lane, a partial step and a full step must give the same bits.
// Usage: float64_accuracy [function ...]     prints a line a function; exits 1 if a bound is exceeded.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "litz/codegen/cpp/runtime_header/float64.h"
#include "litz/codegen/cpp/runtime_header/vec.h"

namespace {

static_assert(std::numeric_limits<long double>::digits >= 64, "the reference needs more digits than a double has");
constexpr int W = 8;
constexpr double kInf = INFINITY;

using Numbers = std::vector<double>;
// y[i] = f(x[i], second[i]) with the given lane count
using Ours = void (*)(const double* x, const double* second, double* y, long count);
using Reference = long double (*)(long double x, long double second);

template <class F>
void over_lanes(const double* x, const double* second, double* y, long count, F f) {
  litz::for_lanes<W>(0, count,
                     [&](litz::i64 i, auto l) LITZ_BODY { litz::store(l, y + i, f(litz::load(l, x + i), litz::load(l, second + i))); });
}
template <class F>
void one_by_one(const double* x, const double* second, double* y, long count, F f) {
  for (long i = 0; i < count; i++) y[i] = f(x[i], second[i]);
}

struct Function {
  const char* name;
  Ours vector, scalar;
  Reference exact;
  double bound;                                    // in ulp
  std::vector<std::pair<double, double>> samples;  // ranges in which many arguments are tried
  bool is_binary = false;
};

#define CALLS(expression)                                                                             \
  [](const double* p, const double* q, double* y, long n) {                                           \
    over_lanes(p, q, y, n, [](auto x, [[maybe_unused]] auto b) LITZ_BODY { return expression; });     \
  },                                                                                                  \
      [](const double* p, const double* q, double* y, long n) {                                       \
        one_by_one(p, q, y, n, [](auto x, [[maybe_unused]] auto b) LITZ_BODY { return expression; }); \
      }
#define EXACT(expression) [](long double x, [[maybe_unused]] long double b) -> long double { return expression; }
#define UNARY(name, bound, ...)                                              \
  {                                                                          \
    #name, CALLS(litz::name(x)), EXACT(std::name(x)), bound, { __VA_ARGS__ } \
  }

// The C library's long double pow takes the wrong infinity or zero for an exponent of -2^63.
long double exact_pow(long double x, long double b) { return b == -0x1p63L ? std::pow((double)x, (double)b) : std::pow(x, b); }

const Function kFunctions[] = {
    UNARY(exp, 1, {-746, 711}, {-1, 1}, {-745.2, -708}, {709, 710}),
    UNARY(exp2, 1, {-1080, 1030}, {-1, 1}, {-1075, -1020}),
    UNARY(expm1, 1.25, {-50, 711}, {-1, 1}, {-0.01, 0.01}),
    {"sigmoid", CALLS(litz::sigmoid(x)), EXACT(1 / (1 + std::exp(-x))), 1.5, {{-750, 50}, {-5, 5}, {-0.1, 0.1}}},
    UNARY(tanh, 1, {-25, 25}, {-1, 1}, {-0.1, 0.1}),
    UNARY(sinh, 1, {-711, 711}, {-1, 1}, {-0.1, 0.1}, {710, 710.6}),
    UNARY(cosh, 1, {-711, 711}, {-1, 1}, {710, 710.6}),
    UNARY(log, 1, {0, 10}, {0.7, 1.42}, {0.999, 1.001}),
    UNARY(log2, 1, {0, 10}, {0.7, 1.42}, {0.999, 1.001}),
    UNARY(log10, 1, {0, 10}, {0.7, 1.42}, {0.999, 1.001}),
    UNARY(log1p, 1, {-1, 10}, {-0.3, 0.42}, {-0.001, 0.001}, {-1, -0.999}),
    UNARY(asinh, 1, {-10, 10}, {-0.1, 0.1}),
    UNARY(acosh, 1, {1, 10}, {1, 1.01}),
    UNARY(atanh, 1, {-1, 1}, {-0.1, 0.1}, {0.999, 1}),
    UNARY(sin, 1, {-10, 10}, {-0.1, 0.1}, {-1e4, 1e4}, {-2e6, 2e6}),
    UNARY(cos, 1, {-10, 10}, {-0.1, 0.1}, {-1e4, 1e4}, {-2e6, 2e6}),
    UNARY(tan, 1, {-10, 10}, {-0.1, 0.1}, {-1e4, 1e4}, {-2e6, 2e6}),
    UNARY(asin, 1, {-1, 1}, {-0.1, 0.1}, {0.99, 1}),
    UNARY(acos, 1, {-1, 1}, {-0.1, 0.1}, {0.99, 1}, {-1, -0.99}),
    UNARY(atan, 1, {-10, 10}, {-1, 1}, {-0.1, 0.1}),
    UNARY(erf, 1.5, {-6.5, 6.5}, {-1, 1}, {-0.1, 0.1}),
    UNARY(erfc, 1.5, {-6.5, 28}, {-1, 1}, {0.4, 0.6}, {26, 28}),
    {"pow", CALLS(litz::pow(x, b)), EXACT(exact_pow(x, b)), 1, {{0, 10}, {0.9, 1.1}, {-10, 0}}, true},
    {"atan2", CALLS(litz::atan2(x, b)), EXACT(std::atan2(x, b)), 1, {{-10, 10}, {-0.1, 0.1}}, true},
};

// |got - exact| in units of the last place of the exact value as a double. One NaN of two or a wrong sign is infinite.
double ulps(double got, long double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : kInf;
  if (std::signbit(got) != std::signbit(exact)) return kInf;
  long double limited = std::fmin(std::fabs(exact), 0x1p1024L), mine = std::fmin(std::fabs((long double)got), 0x1p1024L);
  if (limited == 0x1p1024L) return (double)((limited - mine) * 0x1p-971L);
  int exponent = limited == 0 ? -1022 : std::max(std::ilogb(limited), -1022);
  return (double)(std::fabs(mine - limited) / std::ldexp(1.0L, exponent - 52));
}

Numbers special_values() {
  Numbers out;
  for (double x : {0.0,
                   0x1p-1074,
                   0x1p-1022,
                   0x1.fffffffffffffp-1023,
                   0x1p-54,
                   0x1p-53,
                   0x1p-28,
                   0.25,
                   0.5,
                   0.75,
                   1.0,
                   1.5,
                   2.0,
                   3.0,
                   4.0,
                   10.0,
                   100.0,
                   1000.0,
                   0x1p20,
                   0x1p28,
                   0x1p52,
                   0x1p53,
                   0x1p53 + 2,
                   0x1p63,
                   0x1p511,
                   1e22,
                   0x1p1023,
                   0x1.fffffffffffffp1023,
                   kInf,
                   (double)NAN,
                   1e300,
                   1e-300,
                   710.4758600739439,
                   709.782712893384,
                   745.1332191019411,
                   36.7,
                   19.06,
                   27.226}) {
    for (double y : {x, std::nextafter(x, 0.0), std::nextafter(x, kInf)}) out.insert(out.end(), {y, -y});
  }
  return out;
}

Numbers arguments(const Function& f, std::mt19937_64& random) {
  Numbers out = special_values();
  auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (uint64_t exponent = 0; exponent < 2047; exponent++) {
    for (int i = 0; i < 40; i++) {
      uint64_t mantissa = i == 0 ? 0 : i == 1 ? ~uint64_t{0} >> 12 : random() >> 12;
      double x = std::bit_cast<double>(exponent << 52 | mantissa);
      out.insert(out.end(), {x, -x});
    }
  }
  for (int i = 0; i < 60000; i++) {  // near multiples of pi/2, half of them below 2^20
    double n = std::floor(between(0, i % 2 ? 667544 : i % 4 ? 40 : 1e9));
    double x = (double)(n * 1.57079632679489661923132169163975144L);
    for (long step = random() % 4; step > 0; step--) x = std::nextafter(x, i % 3 ? 0 : kInf);
    out.insert(out.end(), {x, -x});
  }
  for (auto [low, high] : f.samples)
    for (int i = 0; i < 200000; i++) out.push_back(between(low, high));
  return out;
}

// For each first argument of a function of two: exponents that keep pow within its range, and everything beside everything.
void pair_up(Numbers& x, Numbers& second, bool is_pow, std::mt19937_64& random) {
  for (double a : x) {
    double limit = is_pow ? 760 / std::fabs(std::log(std::fabs(a))) : std::fabs(a) * 8,
           b = limit * std::uniform_real_distribution<double>(-1, 1)(random);
    if (is_pow && a < 0) b = std::rint(b);
    second.push_back(std::isfinite(b) ? b : 2.5);
  }
  const Numbers special = special_values();
  for (double a : special) {
    for (double b : special) {
      x.push_back(a);
      second.push_back(b);
    }
  }
}

bool measure(const Function& f) {
  std::mt19937_64 random(20);
  Numbers x = arguments(f, random), second;
  if (f.is_binary) pair_up(x, second, !std::strcmp(f.name, "pow"), random);
  second.resize(x.size(), 1.0);
  while (x.size() % W != W - 3) {  // a partial step at the end
    x.push_back(0.7);
    second.push_back(0.7);
  }
  Numbers y(x.size()), single(x.size());
  f.vector(x.data(), second.data(), y.data(), (long)x.size());
  f.scalar(x.data(), second.data(), single.data(), (long)x.size());
  double worst = 0;
  size_t at = 0, different = 0;
  for (size_t i = 0; i < x.size(); i++) {
    different += std::bit_cast<uint64_t>(y[i]) != std::bit_cast<uint64_t>(single[i]) && !(std::isnan(y[i]) && std::isnan(single[i]));
    double u = ulps(y[i], f.exact(x[i], second[i]));
    if (u > worst) {
      worst = u;
      at = i;
    }
  }
  const bool good = worst <= f.bound && different == 0;
  std::printf("%-8s %7.4f ulp (bound %g) at %a = %.17g", f.name, worst, f.bound, x[at], x[at]);
  if (f.is_binary) std::printf(" and %a = %.17g", second[at], second[at]);
  std::printf(": %a, exact %La  [%zu arguments]", y[at], f.exact(x[at], second[at]), x.size());
  if (different) std::printf("  %zu LANES DIFFER FROM SCALARS", different);
  std::printf("%s\n", good ? "" : "  TOO MUCH");
  std::fflush(stdout);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  bool ok = true;
  for (const Function& f : kFunctions) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; i++) wanted |= !std::strcmp(argv[i], f.name);
    if (wanted) ok &= measure(f);
  }
  return ok ? 0 : 1;
}
