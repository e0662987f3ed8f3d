#pragma once
// Accumulators of reductions, checks that report to the caller, and
// stores that combine. An accumulator of width W has W partial results; dead lanes of a step change nothing. `finish` combines
// the lanes, `value` gives them as they are (lanes over an outer loop). Nothing here needs a system header.
#include "arithmetic.h"
#include "exponential.h"
#include "lane_reduction.h"
#include "memory.h"

namespace litz {

// ---- accumulators: of dtype T, W partial results ----

template <class T, int W> struct Sum {
  Value<T, W> a = (Value<T, W>)(T)0;
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) { a = litz::add(a, keep(l, v, (Value<T, W>)(T)0)); }
  Value<T, W> lost = (Value<T, W>)(T)0;  // by the additions of merge, which are compensated
  LITZ_BODY void merge(const Sum& b) {
    Value<T, W> term = b.a - lost, total = a + term;
    Value<T, W> error = (total - a) - term;
    lost = where(isfinite(total), error, (Value<T, W>)(T)0);
    a = total;
  }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY T finish() const {
    return combine_lanes<T>(a, [](auto x, auto y) { return litz::add(x, y); });
  }
};
template <class T, int W> struct Prod {
  Value<T, W> a = (Value<T, W>)(T)1;
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) { a = mul(a, keep(l, v, (Value<T, W>)(T)1)); }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY T finish() const {
    return combine_lanes<T>(a, [](auto x, auto y) { return mul(x, y); });
  }
};
template <class T, int W> struct XorSum {
  Value<T, W> a = (Value<T, W>)(T)0;
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) { a = bitwise_xor(a, keep(l, v, (Value<T, W>)(T)0)); }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY T finish() const {
    return combine_lanes<T>(a, [](auto x, auto y) { return bitwise_xor(x, y); });
  }
};
// The first operand is the newcomer: maximum(v, a) is then two instructions and a test for NaN.
template <class T, int W> struct Max {
  Value<T, W> a;
  LITZ_BODY explicit Max(T identity) : a((Value<T, W>)identity) {}
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) { a = keep(l, maximum(v, a), a); }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY T finish() const {
    return combine_lanes<T>(a, [](auto x, auto y) { return maximum(x, y); });
  }
};
template <class T, int W> struct Min {
  Value<T, W> a;
  LITZ_BODY explicit Min(T identity) : a((Value<T, W>)identity) {}
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) { a = keep(l, minimum(v, a), a); }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY T finish() const {
    return combine_lanes<T>(a, [](auto x, auto y) { return minimum(x, y); });
  }
};
template <int W> struct Any {
  Mask<W> a = splat<bool>(Full<W>{}, false);
  template <class L> LITZ_BODY void update(L l, Mask<W> v) { a = logical_or(a, keep(l, v, splat<bool>(l, false))); }
  LITZ_BODY Mask<W> value() const { return a; }
  LITZ_BODY bool finish() const { return any_lane(a); }
};
template <int W> struct All {
  Mask<W> a = splat<bool>(Full<W>{}, true);
  template <class L> LITZ_BODY void update(L l, Mask<W> v) { a = logical_and(a, keep(l, v, splat<bool>(l, true))); }
  LITZ_BODY Mask<W> value() const { return a; }
  LITZ_BODY bool finish() const { return all_lanes(a); }
};
template <int W> using MaxBool = Any<W>;
template <int W> using MinBool = All<W>;

/// The greatest (least, with IsMax false) value and its logical index: NaN beats every number, then the lower index wins. In a
/// scan the later one wins, NaN included.
template <class T, class I, int W, bool IsMax, bool IsScan> struct Extreme {
  Value<T, W> a;
  Vec<I, W> i;
  LITZ_BODY explicit Extreme(T identity) : a((Value<T, W>)identity), i((Vec<I, W>)(I)((UnsignedOf<sizeof(I)>)-1 >> 1)) {}
  template <class V, class J> static LITZ_BODY auto is_better(V v, J vi, V w, J wi) {
    auto beyond = IsMax ? gt(v, w) : lt(v, w);
    auto both = logical_or(eq(v, w), logical_and(isnan(v), isnan(w)));
    auto only_nan = logical_and(isnan(v), logical_not(isnan(w)));
    return logical_or(logical_or(beyond, only_nan), logical_and(both, lt(vi, wi)));
  }
  template <class V> static LITZ_BODY auto is_later(V v, V w) { return logical_or(isnan(v), IsMax ? ge(v, w) : le(v, w)); }
  template <class L> LITZ_BODY void update(L l, Value<T, W> v, Vec<I, W> vi) {
    Mask<W> k;
    if constexpr (IsScan) k = is_later(v, a);
    else k = is_better(v, vi, a, i);
    k = keep(l, k, splat<bool>(l, false));
    a = where(k, v, a);
    i = where(k, vi, i);
  }
  LITZ_BODY Value<T, W> value() const { return a; }
  LITZ_BODY Vec<I, W> index() const { return i; }
  LITZ_BODY auto finish() const { return halve(*this); }
  template <int N> static LITZ_BODY Extreme<T, I, 1, IsMax, IsScan> halve(const Extreme<T, I, N, IsMax, IsScan>& e) {
    if constexpr (N == 1) return e;
    else {
      Extreme<T, I, 1, IsMax, IsScan> r((T)0);
      r.a = lane(e.a, 0);
      r.i = lane(e.i, 0);
      for (int j = 1; j < N; j++) {
        T v = lane(e.a, j);
        I vi = lane(e.i, j);
        if (is_better(v, vi, r.a, r.i)) {
          r.a = v;
          r.i = vi;
        }
      }
      return r;
    }
  }
};

/// Mean and sum of squared deviations (Welford); lanes are joined by Chan's formula.
template <class T, int W> struct Welford {
  Value<T, W> mean = (Value<T, W>)(T)0, m2 = (Value<T, W>)(T)0, count = (Value<T, W>)(T)0;
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) {
    Value<T, W> zero = (Value<T, W>)(T)0, one = (Value<T, W>)(T)1;
    count += keep(l, one, zero);
    Value<T, W> d = v - mean;
    mean += keep(l, d / count, zero);
    m2 += keep(l, d * (v - mean), zero);
  }
  LITZ_BODY void merge_lane(T b_mean, T b_m2, T b_count)
    requires(W == 1)
  {
    if (b_count == 0) return;
    T n = count + b_count, d = b_mean - mean, share = b_count / n;
    mean = count == 0 ? b_mean : mean + d * share;
    m2 = count == 0 ? b_m2 : m2 + b_m2 + d * d * count * share;
    count = n;
  }
  LITZ_BODY Welford<T, 1> finish() const {
    Welford<T, 1> r;
    for (int j = 0; j < W; j++) r.merge_lane(lane(mean, j), lane(m2, j), lane(count, j));
    return r;
  }
};

/// The maximum and the sum of exp(v - maximum); an infinite maximum counts as 0.
template <class T, int W> struct LogSumExp {
  Value<T, W> m = (Value<T, W>)(T)-__builtin_inff(), s = (Value<T, W>)(T)0;
  static LITZ_BODY auto finite(auto x) { return where(isinf(x), (decltype(x))(T)0, x); }
  template <class L> LITZ_BODY void update(L l, Value<T, W> v) {
    Value<T, W> next = keep(l, maximum(v, m), m), base = finite(next);
    s = keep(l, s * exp(m - base) + exp(v - base), s);
    m = next;
  }
  LITZ_BODY Value<T, W> value() const { return finite(m); }
  LITZ_BODY Value<T, W> sum() const { return s; }
  LITZ_BODY Value<T, W> log_sum() const { return log(s) + finite(m); }
  LITZ_BODY LogSumExp<T, 1> finish() const {
    LogSumExp<T, 1> r;
    r.m = combine_lanes<T>(m, [](auto x, auto y) { return maximum(x, y); });
    r.s = combine_lanes<T>(s * exp(m - (Value<T, W>)finite(r.m)), [](auto x, auto y) { return x + y; });
    return r;
  }
};

// ---- checks ----

/// The executor's error block; the first failure need not win.
struct KernelError {
  i64 code, value, size;
};
LITZ_SLOW void report(KernelError* error, i64 code, i64 value, i64 size) {
  error->value = value;
  error->size = size;
  __atomic_store_n(&error->code, code, __ATOMIC_RELEASE);
}
constexpr i64 index_out_of_range = 1, division_by_zero = 2, assertion_failed = 16;

/// The index, wrapped to [0, size); an index that is not in [-size, size) where `wanted` holds is reported and becomes 0.
template <class L, class V> LITZ_INLINE V check_index(L l, V index, i64 size, Mask<L::width> wanted, KernelError* error) {
  using T = Element<V>;
  V n = (V)(T)size;
  Mask<L::width> bad = logical_or(ge(index, n), lt(index, neg(n)));
  bad = keep(l, logical_and(bad, wanted), splat<bool>(l, false));
  if (__builtin_expect(any_lane(bad), 0)) {
#pragma clang loop unroll(disable)
    for (int j = 0; j < L::width; j++)
      if (lane(bad, j)) report(error, index_out_of_range, (i64)lane(index, j), size);
    index = where(bad, (V)(T)0, index);
  }
  return where(lt(index, (V)(T)0), litz::add(index, n), index);
}
/// A divisor that does not trap: a zero in a live lane is reported, and zeros become 1.
template <class L, class V> LITZ_INLINE V nonzero(L l, V divisor, KernelError* error) {
  Mask<L::width> zero = eq(divisor, (V)0);
  if (__builtin_expect(any_lane(zero), 0)) {
    if (any_lane(keep(l, zero, splat<bool>(l, false)))) report(error, division_by_zero, 0, 0);
    divisor = where(zero, (V)1, divisor);
  }
  return divisor;
}
template <class L> LITZ_INLINE void check_true(L l, Mask<L::width> holds, i64 number, KernelError* error) {
  if (__builtin_expect(!all_lanes(keep(l, holds, splat<bool>(l, true))), 0)) report(error, assertion_failed + number, 0, 0);
}

// ---- stores that combine with what is there ----

struct CombineAdd {
  template <class V> LITZ_BODY static V of(V a, V b) { return litz::add(a, b); }
};
struct CombineMul {
  template <class V> LITZ_BODY static V of(V a, V b) { return mul(a, b); }
};
struct CombineMin {
  template <class V> LITZ_BODY static V of(V a, V b) { return minimum(a, b); }
};
struct CombineMax {
  template <class V> LITZ_BODY static V of(V a, V b) { return maximum(a, b); }
};

template <class F, class L, class T> LITZ_INLINE void combine(L l, T* p, Value<T, L::width> v) { store(l, p, F::of(load(l, p), v)); }
/// Lane after lane, so that lanes may meet in one element.
template <class F, class L, class T, class O> LITZ_INLINE void combine_at(L l, T* p, O offset, Value<T, L::width> v) {
  for (int j = 0; j < L::width; j++)
    if (is_alive(l, j)) {
      T* at = p + (i64)lane(offset, j);
      store(Full<1>{}, at, F::of(load(Full<1>{}, at), (Value<T, 1>)lane(v, j)));
    }
}

}  // namespace litz
