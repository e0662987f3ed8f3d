#pragma once
// The types of generated C++ kernels. A kernel fixes a lane count W (a power of two, 1 for scalar code) and every value
// of a body has W lanes whatever its dtype; the compiler splits or widens to the registers of the machine. With W = 1 a
// value is a plain scalar, so that one text serves both. Nothing here needs a system header, and everything is inlined.
// What must hold: no contraction of a*b+c (switched off below, too), and signed overflow wraps (unsigned arithmetic
// inside).
#pragma clang fp contract(off)
// everything is inlined: no vector crosses a call, so no ABI question arises
#pragma clang diagnostic ignored "-Wpsabi"

#define LITZ_INLINE static inline __attribute__((always_inline, unused))
#define LITZ_SLOW static __attribute__((noinline, unused))
// After the parameter list of a body's lambda: [&](i64 i, auto l) LITZ_BODY { ... }
#define LITZ_BODY __attribute__((always_inline))
// Before a loop that runs over data: unrolling it would cost compile time and gain nothing.
#define LITZ_ROLLED _Pragma("clang loop unroll(disable)")
// Before a loop over the lanes of a vector: in straight code a lane is put in or taken out by an instruction, in a loop through memory.
#define LITZ_UNROLLED _Pragma("clang loop unroll(full)")

namespace litz {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long;
using u64 = unsigned long;

// Floating-point formats that live in memory only: in registers their values are float, which holds each exactly.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct f8_e4m3fn {
  u8 bits;
};
struct f8_e4m3fnuz {
  u8 bits;
};
struct f8_e5m2 {
  u8 bits;
};
struct f8_e5m2fnuz {
  u8 bits;
};

template <class T, int N>
struct VecOf {
  typedef T type __attribute__((ext_vector_type(N)));
};
template <class T>
struct VecOf<T, 1> {
  using type = T;
};
/// N lanes of the plain element type T; T itself for N = 1.
template <class T, int N>
using Vec = typename VecOf<T, N>::type;

/// Truth values of N lanes, each 0 or -1 in an int32 lane; a plain bool for N = 1.
template <int N>
struct LaneMask {
  Vec<i32, N> m;
};
template <int N>
struct MaskOf {
  using type = LaneMask<N>;
};
template <>
struct MaskOf<1> {
  using type = bool;
};
template <int N>
using Mask = typename MaskOf<N>::type;

/// Element type and lane count of a register type.
template <class V>
struct Lanes {
  using T = V;
  static constexpr int n = 1;
};
template <class T_, int N_>
struct Lanes<T_ __attribute__((ext_vector_type(N_)))> {
  using T = T_;
  static constexpr int n = N_;
};
template <int N>
struct Lanes<LaneMask<N>> {
  using T = bool;
  static constexpr int n = N;
};
template <class V>
using Element = typename Lanes<V>::T;
template <class V>
inline constexpr int lanes = Lanes<V>::n;

template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
template <class T>
inline constexpr bool is_float = same<T, float> || same<T, double>;
template <class T>
inline constexpr bool is_signed = is_float<T> || (T)-1 < (T)0;
template <bool B, class X, class Y>
struct ChooseOf {
  using type = X;
};
template <class X, class Y>
struct ChooseOf<false, X, Y> {
  using type = Y;
};
template <bool B, class X, class Y>
using Choose = typename ChooseOf<B, X, Y>::type;
template <int Bytes>
using SignedOf = Choose<Bytes == 8, i64, Choose<Bytes == 4, i32, Choose<Bytes == 2, i16, i8>>>;
template <int Bytes>
using UnsignedOf = Choose<Bytes == 8, u64, Choose<Bytes == 4, u32, Choose<Bytes == 2, u16, u8>>>;

/// The same lanes with another element type.
template <class V, class T>
using Rebind = Vec<T, lanes<V>>;
/// Integer lanes as wide as V's.
template <class V>
using Bits = Rebind<V, SignedOf<sizeof(Element<V>)>>;
template <class V>
using UBits = Rebind<V, UnsignedOf<sizeof(Element<V>)>>;

/// A dtype in memory (T) and in a register.
template <class T>
struct Storage {
  using Memory = T;
  using Register = T;
};
template <>
struct Storage<f16> {
  using Memory = u16;
  using Register = float;
};
template <>
struct Storage<bf16> {
  using Memory = u16;
  using Register = float;
};
template <>
struct Storage<f8_e4m3fn> {
  using Memory = u8;
  using Register = float;
};
template <>
struct Storage<f8_e4m3fnuz> {
  using Memory = u8;
  using Register = float;
};
template <>
struct Storage<f8_e5m2> {
  using Memory = u8;
  using Register = float;
};
template <>
struct Storage<f8_e5m2fnuz> {
  using Memory = u8;
  using Register = float;
};
template <>
struct Storage<bool> {
  using Memory = u8;
  using Register = bool;
};
template <class T>
using Memory = typename Storage<T>::Memory;
/// The register type of N lanes of dtype T: Value<bf16, 8> is 8 floats, Value<bool, 8> a Mask<8>.
template <class T, int N>
struct ValueOf {
  using type = Vec<typename Storage<T>::Register, N>;
};
template <int N>
struct ValueOf<bool, N> {
  using type = Mask<N>;
};
template <class T, int N>
using Value = typename ValueOf<T, N>::type;

/// Which lanes of a step are alive: all W, or the first n of them (0 <= n <= W). Every access takes one of these first.
template <int W>
struct Full {
  static constexpr int width = W;
};
template <int W>
struct Tail {
  static constexpr int width = W;
  i32 n;
};

/// body(i, lanes) for every step of W in [begin, end), the last one partial.
template <int W, class Body>
LITZ_INLINE void for_lanes(i64 begin, i64 end, Body body) {
  i64 i = begin;
#pragma clang loop unroll(disable)
  for (; i + W <= end; i += W) body(i, Full<W>{});
  if constexpr (W > 1) {
    if (i < end) body(i, Tail<W>{(i32)(end - i)});
  }
}

// ---- lane plumbing ----

/// Elementwise numeric conversion as C++ converts (float to integer only when the value fits).
template <class T, class V>
LITZ_INLINE Rebind<V, T> convert(V v) {
  if constexpr (same<T, Element<V>>) return v;
  else if constexpr (lanes<V> == 1) return (T)v;
  else return __builtin_convertvector(v, Rebind<V, T>);
}
/// The same bits as another element type of the same size.
template <class T, class V>
LITZ_INLINE Rebind<V, T> as(V v) {
  return __builtin_bit_cast(Rebind<V, T>, v);
}

template <class V>
LITZ_INLINE Element<V> lane(V v, int j) {
  if constexpr (lanes<V> == 1) return v;
  else return v[j];
}
template <int N>
LITZ_INLINE bool lane(LaneMask<N> v, int j) {
  return v.m[j];
}
template <class V>
LITZ_INLINE void set_lane(V& v, int j, Element<V> s) {
  if constexpr (lanes<V> == 1) v = s;
  else v[j] = s;
}
// Whether a raw comparison holds in any lane.
template <class C>
LITZ_INLINE bool some(C c) {
  if constexpr (lanes<C> == 1) return c;
  else return __builtin_reduce_or(c) != 0;
}

/// f(lane) or f(lane, lane) for every lane, in a loop: for what has no vector form.
template <class F, class V>
LITZ_INLINE V per_lane(F f, V a) {
  if constexpr (lanes<V> == 1) return f(a);
  else {
    Element<V> in[lanes<V>], out[lanes<V>];
    __builtin_memcpy(in, &a, sizeof a);
#pragma clang loop unroll(disable)
    for (int j = 0; j < lanes<V>; j++) out[j] = f(in[j]);
    __builtin_memcpy(&a, out, sizeof a);
    return a;
  }
}
template <class F, class V>
LITZ_INLINE V per_lane(F f, V a, V b) {
  if constexpr (lanes<V> == 1) return f(a, b);
  else {
    Element<V> x[lanes<V>], y[lanes<V>];
    __builtin_memcpy(x, &a, sizeof a);
    __builtin_memcpy(y, &b, sizeof b);
#pragma clang loop unroll(disable)
    for (int j = 0; j < lanes<V>; j++) x[j] = f(x[j], y[j]);
    __builtin_memcpy(&a, x, sizeof a);
    return a;
  }
}

/// A comparison's result (a truth value, or lanes of 0 and -1 of any width) as a mask.
template <class C>
LITZ_INLINE Mask<lanes<C>> as_mask(C c) {
  if constexpr (lanes<C> == 1) return c;
  else return {convert<i32>(c)};
}
/// A mask as 0 and -1 lanes of V's width, as a vector's ?: takes them.
template <class V>
LITZ_INLINE bool mask_for(bool b) {
  return b;
}
template <class V, int N>
LITZ_INLINE Bits<V> mask_for(LaneMask<N> k) {
  return convert<Element<Bits<V>>>(k.m);
}

template <class V>
LITZ_INLINE V where(bool k, V a, V b) {
  return k ? a : b;
}
template <int N, class V>
LITZ_INLINE V where(LaneMask<N> k, V a, V b) {
  return mask_for<V>(k) ? a : b;
}
template <int N>
LITZ_INLINE LaneMask<N> where(LaneMask<N> k, LaneMask<N> a, LaneMask<N> b) {
  return {(k.m & a.m) | (~k.m & b.m)};
}
template <int N>
LITZ_INLINE LaneMask<N> where(bool k, LaneMask<N> a, LaneMask<N> b) {
  return k ? a : b;
}

/// The scalar s in every lane. T is the dtype, so splat<bool>(l, true) is a mask and splat<bf16>(l, x) floats.
template <class T, class L>
LITZ_INLINE Value<T, L::width> splat(L, typename Storage<T>::Register s) {
  if constexpr (same<T, bool> && L::width > 1) return Mask<L::width>{(Vec<i32, L::width>)(s ? -1 : 0)};
  else return (Value<T, L::width>)s;
}
inline constexpr u8 lane_table[] = {
    0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  18,  19,  20,  21,  22,  23,  24,  25,
    26,  27,  28,  29,  30,  31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  41,  42,  43,  44,  45,  46,  47,  48,  49,  50,  51,
    52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,  63,  64,  65,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,
    78,  79,  80,  81,  82,  83,  84,  85,  86,  87,  88,  89,  90,  91,  92,  93,  94,  95,  96,  97,  98,  99,  100, 101, 102, 103,
    104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129,
    130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155,
    156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 181,
    182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200, 201, 202, 203, 204, 205, 206, 207,
    208, 209, 210, 211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231, 232, 233,
    234, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255};
/// 0, 1, 2, ... W - 1
template <class T, int N>
LITZ_INLINE Vec<T, N> lane_numbers() {
  static_assert(N <= 256);
  if constexpr (N == 1) return 0;
  else {
    Vec<u8, N> r;
    __builtin_memcpy(&r, lane_table, N);
    return __builtin_convertvector(r, Vec<T, N>);
  }
}
/// base, base + 1, ... (base + step, ...): a loop index as a value.
template <class T, class L>
LITZ_INLINE Vec<T, L::width> iota(L, T base, T step = 1) {
  using U = Choose<is_float<T>, T, UnsignedOf<sizeof(T)>>;
  return (Vec<T, L::width>)as<T>((Vec<U, L::width>)(U)base + (Vec<U, L::width>)(U)step * lane_numbers<U, L::width>());
}
/// Which lanes are alive.
template <int W>
LITZ_INLINE Mask<W> alive(Full<W> l) {
  return splat<bool>(l, true);
}
template <int W>
LITZ_INLINE Mask<W> alive(Tail<W> l) {
  return as_mask(lane_numbers<i32, W>() < (Vec<i32, W>)l.n);
}
/// v where the lane is alive, else `otherwise` (the identity of a reduction); no work in a full step.
template <int W, class V>
LITZ_INLINE V keep(Full<W>, V v, V) {
  return v;
}
template <int W, class V>
LITZ_INLINE V keep(Tail<W> l, V v, V otherwise) {
  return where(alive(l), v, otherwise);
}

}  // namespace litz
