#include "litz/codegen/cpp/jit/cpp_jit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace litz {
namespace {

CppJit& jit() {
  static CppJit instance({});
  return instance;
}

CompileTarget host() { return host_target().value(); }

CompiledModule compile(const std::string& text) {
  Result<CompiledModule> module = jit().compile({.text = text}, host());
  EXPECT_TRUE(module) << module.reason();
  return module.value();
}

std::string adder(int n) {
  return "static int table[] = {1, 2, " + std::to_string(n) + "}; extern \"C\" int f(int x) { return x + table[2]; }";
}

/// Of the two bfloat16 around a float the nearer one, the even one when they are as near.
std::uint16_t nearest_bfloat(float value) {
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16), above = static_cast<std::uint16_t>(below + 1);
  const auto distance = [value](std::uint16_t bits) {
    const double candidate = (bits & 0x7fff) == 0x7f80 ? std::copysign(0x1p128, value)  // what would follow the largest
                                                       : double{std::bit_cast<float>(std::uint32_t{bits} << 16)};
    return std::fabs(double{value} - candidate);
  };
  if (std::isinf(value) || distance(below) < distance(above)) return below;
  return distance(above) < distance(below) || below % 2 ? above : below;
}

// A fused softmax as the generator writes it, 16 lanes.
const char* kSoftmax = R"(
typedef float v16 __attribute__((ext_vector_type(16), aligned(4)));
typedef int i16v __attribute__((ext_vector_type(16), aligned(4)));
static inline v16 vexp(v16 x) {
  v16 t = __builtin_elementwise_roundeven(x * 1.44269504f);
  v16 r = x - t * 0.693359375f + t * 2.12194440e-4f;
  v16 p = r * 1.9875691500E-4f + 1.3981999507E-3f;
  p = p * r + 8.3334519073E-3f; p = p * r + 4.1665795894E-2f; p = p * r + 1.6666665459E-1f; p = p * r + 5.0000001201E-1f;
  p = p * r * r + r + 1.f;
  i16v e = __builtin_convertvector(t, i16v) + 127;
  e <<= 23;
  return p * __builtin_bit_cast(v16, e);
}
extern "C" void softmax(const float* x, float* y, long n, long m) {
  for (long i = 0; i < n; i++) {
    const float* a = x + i * m; float* b = y + i * m;
    v16 mx = -__builtin_inff();
    for (long j = 0; j < m; j += 16) mx = __builtin_elementwise_max(mx, *(const v16*)(a + j));
    float M = __builtin_reduce_max(mx);
    v16 s = 0;
    for (long j = 0; j < m; j += 16) { v16 e = vexp(*(const v16*)(a + j) - M); s += e; *(v16*)(b + j) = e; }
    float S = 0;
    for (int q = 0; q < 16; q++) S += s[q];
    float R = 1 / S;
    for (long j = 0; j < m; j += 16) *(v16*)(b + j) *= R;
  }
}
)";

TEST(CppJit, compiles_and_runs) { EXPECT_EQ(compile(adder(40)).function<int(int)>("f")(2), 42); }

TEST(CppJit, equal_names_in_two_modules_do_not_meet) {
  const CompiledModule a = compile(adder(1)), b = compile(adder(2));
  EXPECT_NE(a.find("f"), b.find("f"));
  EXPECT_EQ(a.function<int(int)>("f")(0), 1);
  EXPECT_EQ(b.function<int(int)>("f")(0), 2);
}

TEST(CppJit, a_copy_keeps_the_code) {
  CompiledModule kept;
  { kept = compile(adder(7)); }
  compile(adder(8));
  EXPECT_EQ(kept.function<int(int)>("f")(0), 7);
}

TEST(CppJit, finds_only_what_the_source_exports) {
  const CompiledModule module = compile("static int hidden(int x) { return x * 3; } extern \"C\" int f(int x) { return hidden(x); }");
  EXPECT_EQ(module.find("hidden"), nullptr);
  EXPECT_EQ(module.find("malloc"), nullptr);
  EXPECT_EQ(CompiledModule().find("f"), nullptr);
}

TEST(CppJit, reports_every_diagnostic_with_its_place) {
  Result<CompiledModule> module = jit().compile({.name = "k7.cpp", .text = "int f() { return y; }\nint g() { return z; }\n"}, host());
  ASSERT_FALSE(module);
  EXPECT_NE(module.reason().find("k7.cpp:1:18: error: use of undeclared identifier 'y'"), std::string::npos) << module.reason();
  EXPECT_NE(module.reason().find("k7.cpp:2:18: error: use of undeclared identifier 'z'"), std::string::npos) << module.reason();
}

TEST(CppJit, names_the_missing_symbol) {
  Result<CompiledModule> module =
      jit().compile({.text = "extern \"C\" int not_there(); extern \"C\" int f() { return not_there(); }"}, host());
  ASSERT_FALSE(module);
  EXPECT_NE(module.reason().find("not_there"), std::string::npos) << module.reason();
  EXPECT_EQ(compile(adder(5)).function<int(int)>("f")(0), 5) << "a failure leaves nothing behind";
}

TEST(CppJit, sees_nothing_of_the_process_but_what_it_was_given) {
  Result<CompiledModule> module =
      jit().compile({.text = "extern \"C\" void* malloc(unsigned long); extern \"C\" void* f() { return malloc(1); }"}, host());
  EXPECT_FALSE(module);
  CppJit other({.symbols = {{"answer", reinterpret_cast<void*>(+[] { return 42; })}}});
  Result<CompiledModule> given = other.compile({.text = "extern \"C\" int answer(); extern \"C\" int f() { return answer(); }"}, host());
  ASSERT_TRUE(given) << given.reason();
  EXPECT_EQ(given->function<int()>("f")(), 42);
}

TEST(CppJit, an_unknown_processor_is_an_error) {
  Result<CompiledModule> module = jit().compile({.text = adder(1)}, CompileTarget{"no-such-cpu", ""});
  ASSERT_FALSE(module);
  EXPECT_NE(module.reason().find("no-such-cpu"), std::string::npos) << module.reason();
}

TEST(CppJit, includes_the_given_headers_and_no_others) {
  const CppSource source = {.text = "#include \"three.h\"\nextern \"C\" int f() { return kThree; }",
                            .headers = {{"three.h", "constexpr int kThree = 3;"}}};
  Result<CompiledModule> module = jit().compile(source, host());
  ASSERT_TRUE(module) << module.reason();
  EXPECT_EQ(module->function<int()>("f")(), 3);
  EXPECT_FALSE(jit().compile({.text = "#include <stdio.h>\n"}, host()));
  EXPECT_FALSE(jit().compile({.text = "#include \"/usr/include/stdio.h\"\n"}, host()));
}

TEST(CppJit, a_prelude_changes_nothing_but_the_time) {
  const std::string header =
      "#pragma once\n#include \"base.h\"\ntemplate <typename T> static inline T twice(T x) { return x * kTwo; }\n"
      "struct Pair { int a, b; };\n#define PLUS(x, y) ((x) + (y))\n";
  const std::string text = "#include \"ops.h\"\nextern \"C\" int f(int x) { Pair p{x, 1}; return PLUS(twice(p.a), p.b); }";
  CppSource source = {.text = text, .headers = {{"ops.h", header}, {"base.h", "constexpr int kTwo = 2;\n"}}};
  Result<std::string> plain = jit().compile_object(source, host());
  source.prelude = "ops.h";
  Result<std::string> first = jit().compile_object(source, host()), second = jit().compile_object(source, host());
  ASSERT_TRUE(plain) << plain.reason();
  ASSERT_TRUE(first) << first.reason();
  ASSERT_TRUE(second) << second.reason();
  EXPECT_EQ(*plain, *first);
  EXPECT_EQ(*first, *second);
  source.headers[1].second = "constexpr int kTwo = 3;\n";
  Result<CompiledModule> changed = jit().compile(source, host());
  ASSERT_TRUE(changed) << changed.reason();
  EXPECT_EQ(changed->function<int(int)>("f")(10), 31) << "another header under the same name is another prelude";
  source.headers[1].second = "broken";
  Result<CompiledModule> broken = jit().compile(source, host());
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.reason().find("base.h:1:1: error: unknown type name 'broken'"), std::string::npos) << broken.reason();
}

TEST(CppJit, compiles_from_several_threads_at_once) {
  std::vector<std::thread> threads;
  std::vector<int> sums(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &sums] {
      for (int i = 0; i < 4; ++i) {
        if (i == 2) jit().compile({.text = "broken"}, host()).reason();
        sums[t] += compile(adder(t * 10 + i)).function<int(int)>("f")(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(sums[t], 40 * t + 6);
}

TEST(CppJit, objects_are_deterministic_and_load_again) {
  const CppSource source = {.text = kSoftmax};
  Result<std::string> first = jit().compile_object(source, host()), second = jit().compile_object(source, host());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  Result<CompiledModule> module = jit().load_object(*first);
  ASSERT_TRUE(module) << module.reason();
  EXPECT_NE(module->find("softmax"), nullptr);
  EXPECT_FALSE(jit().load_object(std::string_view(*first).substr(0, 100)));
  EXPECT_FALSE(jit().load_object("not an object"));
}

TEST(CppJit, every_instruction_set_of_the_machine_gives_a_right_softmax) {
  const long n = 3, m = 64;
  std::vector<float> x(n * m), y(n * m);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * i) * 5;
  int sets = 0;
  for (const char* name : {"sse", "avx2", "avx512", "neon"}) {
    Result<CompileTarget> target = host_target(name);
    if (!target) continue;
    ++sets;
    Result<CompiledModule> module = jit().compile({.text = kSoftmax}, *target);
    ASSERT_TRUE(module) << name << module.reason();
    module->function<void(const float*, float*, long, long)>("softmax")(x.data(), y.data(), n, m);
    for (long i = 0; i < n; ++i) {
      double sum = 0;
      for (long j = 0; j < m; ++j) sum += std::exp(double{x[i * m + j]});
      for (long j = 0; j < m; ++j) EXPECT_NEAR(y[i * m + j], std::exp(double{x[i * m + j]}) / sum, 1e-6) << name;
    }
  }
  EXPECT_GE(sets, 1);
}

TEST(CppJit, an_instruction_set_that_is_not_known_is_refused) {
  Result<CompileTarget> target = host_target("mmx");
  ASSERT_FALSE(target);
  EXPECT_NE(target.reason().find("unknown instruction set 'mmx'"), std::string::npos) << target.reason();
}

TEST(CppJit, does_not_contract_or_reassociate) {
  const CompiledModule module = compile(
      "extern \"C\" float f(float a, float b, float c) { return a * b + c; }"
      "extern \"C\" float g(float a) { return (a + 1e8f) - 1e8f; }");
  const float a = 1 + 0x1p-12f;
  EXPECT_EQ(module.function<float(float, float, float)>("f")(a, a, -(1 + 0x1p-11f)), 0.0f) << "a fused multiply-add gives 2^-24";
  EXPECT_EQ(module.function<float(float)>("g")(1.0f), 0.0f);
}

TEST(CppJit, small_floats_convert_without_instructions_for_them) {
  Result<CompiledModule> module = jit().compile({.text = "extern \"C\" void h(const float* x, _Float16* y, long n) { "
                                                         "for (long i = 0; i < n; i++) y[i] = (_Float16)x[i]; }"
                                                         "extern \"C\" void b(const float* x, __bf16* y, long n) { for "
                                                         "(long i = 0; i < n; i++) y[i] = (__bf16)x[i]; }"
                                                         "extern \"C\" void hd(const double* x, _Float16* y, long n) { "
                                                         "for (long i = 0; i < n; i++) y[i] = (_Float16)x[i]; }"
                                                         "extern \"C\" void e(const _Float16* x, float* y, long n) { "
                                                         "for (long i = 0; i < n; i++) y[i] = (float)x[i]; }"},
                                                CompileTarget{"x86-64", ""});
  ASSERT_TRUE(module) << module.reason();
  std::vector<float> values;
  for (int i = 0; i < 65536; ++i) values.push_back(static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(i))));
  for (size_t i = 0, n = values.size(); i < n; ++i) {
    values.push_back(std::nextafter(values[i], INFINITY));
    if (i + 1 < n) values.push_back(values[i] / 2 + values[i + 1] / 2);
  }
  const long n = static_cast<long>(values.size());
  std::vector<std::uint16_t> half(n), half_of_double(n), bfloat(n);
  std::vector<double> doubles(values.begin(), values.end());
  module->function<void(const float*, void*, long)>("h")(values.data(), half.data(), n);
  module->function<void(const double*, void*, long)>("hd")(doubles.data(), half_of_double.data(), n);
  module->function<void(const float*, void*, long)>("b")(values.data(), bfloat.data(), n);
  for (long i = 0; i < n; ++i) {
    if (std::isnan(values[i])) {
      EXPECT_GT(half[i] & 0x7fff, 0x7c00);
      EXPECT_GT(bfloat[i] & 0x7fff, 0x7f80);
      continue;
    }
    // The compiler of this test converts by its own means.
    ASSERT_EQ(half[i], std::bit_cast<std::uint16_t>(static_cast<_Float16>(values[i]))) << values[i];
    ASSERT_EQ(half_of_double[i], half[i]) << values[i];
    ASSERT_EQ(bfloat[i], nearest_bfloat(values[i])) << values[i];
  }
  std::vector<std::uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(65536);
  module->function<void(const void*, float*, long)>("e")(all.data(), wide.data(), 65536);
  for (int i = 0; i < 65536; ++i) {
    if (std::isnan(values[i])) EXPECT_TRUE(std::isnan(wide[i]));
    else ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(values[i])) << i;
  }
}

TEST(CppJit, a_fatal_error_of_the_compiler_is_a_reason_and_not_the_end) {
  // LLVM refuses rbp in a function without a frame pointer, and its way of refusing is report_fatal_error.
  const std::string text = "register unsigned long r asm(\"rbp\"); extern \"C\" unsigned long f() { return r; }";
  for (int i = 0; i < 5; ++i) {
    Result<CompiledModule> module = jit().compile({.text = text}, CompileTarget{"x86-64", ""});
    ASSERT_FALSE(module);
    EXPECT_NE(module.reason().find("fatal error in the compiler: register rbp"), std::string::npos) << module.reason();
  }
  EXPECT_EQ(compile(adder(9)).function<int(int)>("f")(0), 9) << "other threads took the place of those that are parked";
}

TEST(CppJit, a_forked_child_compiles) {
  compile(adder(1));
  std::future<Result<CompiledModule>> pending = jit().start_compile({.text = kSoftmax}, host());
  const pid_t child = fork();
  if (child == 0) _exit(compile(adder(3)).function<int(int)>("f")(4) == 7 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(pending.get());
}

TEST(CppJit, exits_while_compiling) {
  EXPECT_EXIT(
      {
        for (int i = 0; i < 50; ++i) jit().start_compile({.text = kSoftmax}, host());
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace litz
