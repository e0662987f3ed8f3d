// Loads and stores of the vector header against plain loops, for every kind of dtype, lane count and number of live
// lanes, with pages that must not be touched directly before and after the live elements. Built once per instruction
// set.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "litz/codegen/cpp/runtime_header/vec.h"

namespace {

using namespace litz;  // NOLINT

/// Room for elements whose first or last one lies at a page that traps.
class Fence {
 public:
  Fence() : page_(sysconf(_SC_PAGESIZE)) {
    base_ = static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE);
  }
  ~Fence() { munmap(base_, 3 * page_); }
  template <typename T>
  T* ending_at_fence(size_t count) {
    return reinterpret_cast<T*>(base_ + 2 * page_) - count;
  }
  template <typename T>
  T* starting_at_fence() {
    return reinterpret_cast<T*>(base_ + page_);
  }

 private:
  size_t page_;
  char* base_;
};

template <typename T>
T number(int k) {
  using M = litz::Memory<T>;
  M m;
  if constexpr (same<T, bool>) m = (k * 7 + 3) / 4 % 2;
  else if constexpr (is_small_float<T>) m = static_cast<M>(k * 3 + 1);  // small positive values
  else m = static_cast<M>(k * 3 - 20);
  return __builtin_bit_cast(T, m);
}
template <typename T>
Value<T, 1> scalar(T x) {
  return load(Full<1>{}, &x);
}

void expect_equal(const double* got, const double* wanted, int lanes, const char* what) {
  for (int j = 0; j < lanes; ++j) EXPECT_EQ(got[j], wanted[j]) << what << ", lane " << j << " of " << lanes;
}
void expect_bytes(const void* got, const void* wanted, size_t bytes, const char* what, int lanes) {
  EXPECT_EQ(std::memcmp(got, wanted, bytes), 0) << what << ", " << bytes << " bytes, " << lanes << " lanes";
}

template <typename T, int W>
struct Check {
  Fence in, out;
  static constexpr typename Storage<T>::Register other = static_cast<typename Storage<T>::Register>(1);

  // What each lane must hold, and that lanes of a register are read and written back unchanged.
  template <class L, class F>
  void expect_lanes(Value<T, W> v, L, F expected, const char* what) {
    double got[W], wanted[W];
    for (int j = 0; j < W; ++j) {
      got[j] = static_cast<double>(lane(v, j));
      wanted[j] = static_cast<double>(expected(j));
    }
    expect_equal(got, wanted, W, what);
  }
  template <class L>
  void check(L l, int n) {
    std::mt19937 random(n);
    Mask<W> k = splat<bool>(l, false);
    bool chosen[W];
    for (int j = 0; j < W; ++j) {
      chosen[j] = random() & 1;
      if constexpr (W == 1) k = chosen[j];
      else k.m[j] = chosen[j] ? -1 : 0;
    }
    for (bool at_end : {true, false}) {
      T* x = at_end ? in.ending_at_fence<T>(n) : in.starting_at_fence<T>();
      for (int j = 0; j < n; ++j) x[j] = number<T>(j);
      const Value<T, 1> zero{};
      expect_lanes(load(l, x), l, [&](int j) { return j < n ? scalar(x[j]) : zero; }, "load");
      expect_lanes(load(l, x, other), l, [&](int j) { return j < n ? scalar(x[j]) : Value<T, 1>(other); }, "load with other");
      expect_lanes(
          load_masked(l, x, k, other), l, [&](int j) { return j < n && chosen[j] ? scalar(x[j]) : Value<T, 1>(other); }, "load_masked");
      Vec<i64, W> reversed = sub((Vec<i64, W>)(i64)(n - 1), lane_numbers<i64, W>());
      expect_lanes(gather(l, x, reversed), l, [&](int j) { return j < n ? scalar(x[n - 1 - j]) : zero; }, "gather");
      Vec<i32, W> narrow = convert<i32>(reversed);
      expect_lanes(
          gather_masked(l, x, narrow, k, other), l, [&](int j) { return j < n && chosen[j] ? scalar(x[n - 1 - j]) : Value<T, 1>(other); },
          "gather_masked");

      auto v = load(l, x);
      auto check_store = [&](const char* what, auto store_them, auto expected) {
        T* y = at_end ? out.ending_at_fence<T>(n) : out.starting_at_fence<T>();
        for (int j = 0; j < n; ++j) y[j] = number<T>(100 + j);
        store_them(y);
        T wanted[W];
        for (int j = 0; j < n; ++j) wanted[j] = expected(j);
        expect_bytes(y, wanted, n * sizeof(T), what, W);
      };
      check_store("store", [&](T* y) { store(l, y, v); }, [&](int j) { return x[j]; });
      check_store("store_masked", [&](T* y) { store_masked(l, y, k, v); }, [&](int j) { return chosen[j] ? x[j] : number<T>(100 + j); });
      check_store("scatter", [&](T* y) { scatter(l, y, reversed, v); }, [&](int j) { return x[n - 1 - j]; });
      check_store(
          "scatter_masked", [&](T* y) { scatter_masked(l, y, narrow, k, v); },
          [&](int j) { return chosen[n - 1 - j] ? x[n - 1 - j] : number<T>(100 + j); });
      check_store("store_strided", [&](T* y) { store_strided(l, y + (n ? n - 1 : 0), -1, v); }, [&](int j) { return x[n - 1 - j]; });
      expect_lanes(load_strided(l, x + (n ? n - 1 : 0), -1), l, [&](int j) { return j < n ? scalar(x[n - 1 - j]) : zero; }, "load_strided");
    }
  }
  void run() {
    check(Full<W>{}, W);
    for (int n = 0; n <= W; ++n) check(Tail<W>{n}, n);
  }
};

template <typename T>
class EveryDtype : public testing::Test {};
using Dtypes = testing::Types<float, f16, i64, bool>;
TYPED_TEST_SUITE(EveryDtype, Dtypes);

TYPED_TEST(EveryDtype, IsReadAndWrittenInLiveLanesOnly) {
#if defined(__AVX512F__)
  if (!__builtin_cpu_supports("avx512vl")) GTEST_SKIP() << "this processor has no AVX-512";
#elif defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
#endif
  Check<TypeParam, 1>().run();
  Check<TypeParam, 8>().run();
  Check<TypeParam, 16>().run();
}

template <int W>
void check_wide_bytes() {
  Fence in, out;
  for (int n = 0; n <= W; ++n) {
    u8 *x = in.ending_at_fence<u8>(n), *y = out.ending_at_fence<u8>(n);
    for (int j = 0; j < n; ++j) x[j] = static_cast<u8>(j * 5 + n);
    store(Tail<W>{n}, y, load(Tail<W>{n}, x));
    expect_bytes(y, x, n, "wide tail", W);
    auto k = alive(Tail<W>{n});
    for (int j = 0; j < W; ++j) EXPECT_EQ(lane(k, j), j < n);
  }
}
TEST(Tails, OfManyBytesAreWholeToo) {
  check_wide_bytes<64>();
  check_wide_bytes<128>();
  check_wide_bytes<256>();
}

TEST(ForLanes, CoversEveryIndexOnceForLengthsUpToThreeSteps) {
  for (i64 length = 0; length < 25; ++length) {
    float seen[32] = {};
    for_lanes<8>(3, 3 + length, [&](i64 i, auto l) LITZ_BODY { store(l, seen + i, add(load(l, seen + i), splat<float>(l, 1))); });
    for (i64 j = 0; j < 32; ++j) EXPECT_EQ(seen[j], j >= 3 && j < 3 + length ? 1 : 0);
  }
}

TEST(Iota, CountsFromBaseInTheTypeOfBase) {
  auto v = iota(Full<8>{}, (i64)5000000000, (i64)-3);
  for (int j = 0; j < 8; ++j) EXPECT_EQ(lane(v, j), 5000000000 - 3 * j);
  auto f = iota(Tail<4>{2}, 0.5f);
  for (int j = 0; j < 4; ++j) EXPECT_EQ(lane(f, j), 0.5f + j);
}

}  // namespace
