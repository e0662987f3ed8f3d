#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "litz/loop/float_format.h"
#include "litz/loop/scalar.h"
#include "litz/support/check.h"

namespace litz {
namespace {

TEST(FloatFormat, DecodingThenEncodingGivesTheSameBits) {
  for (DType d :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat8E5M2, DType::kFloat8E4M3FN, DType::kFloat8E5M2FNUZ, DType::kFloat8E4M3FNUZ}) {
    uint64_t count = uint64_t{1} << (dtype_bytes(d) * 8);
    for (uint64_t bits = 0; bits < count; ++bits) {
      double v = decode_float(d, bits);
      if (std::isnan(v)) EXPECT_TRUE(std::isnan(decode_float(d, encode_float(d, v))));
      else ASSERT_EQ(encode_float(d, v), bits) << dtype_name(d) << " " << v;
    }
  }
}

TEST(FloatFormat, HalfwayRoundsToEven) {
  EXPECT_EQ(round_float(DType::kBFloat16, 257), 256);
  EXPECT_EQ(round_float(DType::kBFloat16, 259), 260);
  EXPECT_EQ(round_float(DType::kFloat16, 65519), 65504);
  EXPECT_TRUE(std::isinf(round_float(DType::kFloat16, 65520)));
  EXPECT_EQ(round_float(DType::kFloat16, std::ldexp(1, -25)), 0);
  EXPECT_EQ(round_float(DType::kFloat16, std::ldexp(1.5, -25)), std::ldexp(1, -24));
  EXPECT_TRUE(std::isnan(round_float(DType::kFloat8E4M3FN, 1000)));
  EXPECT_EQ(largest_finite(DType::kFloat8E4M3FN), 448);
}

Scalar i64(int64_t v) { return scalar_of(DType::kInt64, v); }
Scalar f32(double v) { return scalar_of(DType::kFloat32, v); }
Scalar eval(Op op, Scalar a, Scalar b) { return evaluate(op, a.dtype, std::array{a, b}); }

TEST(Scalar, IntegerDivisionFollowsPython) {
  for (int64_t a = -7; a <= 7; ++a)
    for (int64_t b : {-3, -2, -1, 1, 2, 3}) {
      EXPECT_EQ(eval(Op::kFloorDiv, i64(a), i64(b)).integer,
                static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
      int64_t r = eval(Op::kRemainder, i64(a), i64(b)).integer;
      EXPECT_EQ(r, a - b * eval(Op::kFloorDiv, i64(a), i64(b)).integer);
      EXPECT_EQ(eval(Op::kTruncDiv, i64(a), i64(b)).integer, a / b);
    }
  EXPECT_THROW(eval(Op::kTruncDiv, i64(1), i64(0)), UserError);
}

TEST(Scalar, MinimumKeepsNanAndOrdersZeros) {
  EXPECT_TRUE(std::isnan(eval(Op::kMinimum, f32(NAN), f32(1)).real));
  EXPECT_TRUE(std::isnan(eval(Op::kMaximum, f32(1), f32(NAN)).real));
  EXPECT_EQ(eval(Op::kFmin, f32(1), f32(NAN)).real, 1);
  EXPECT_TRUE(std::signbit(eval(Op::kMinimum, f32(0.0), f32(-0.0)).real));
}

TEST(Scalar, ArithmeticRoundsInTheElementType) {
  EXPECT_EQ(eval(Op::kAdd, f32(16777216), f32(1)).real, 16777216);
  EXPECT_EQ(eval(Op::kAdd, scalar_of(DType::kBFloat16, 256.0), scalar_of(DType::kBFloat16, 1.0)).real, 256);
  EXPECT_EQ(eval(Op::kAdd, scalar_of(DType::kUInt8, int64_t{250}), scalar_of(DType::kUInt8, int64_t{10})).integer, 4);
}

TEST(Scalar, ConversionsToIntegersTruncate) {
  EXPECT_EQ(convert(f32(-1.9), DType::kInt64).integer, -1);
  EXPECT_EQ(convert(f32(300), DType::kUInt8).integer, 44);
  EXPECT_EQ(convert(f32(NAN), DType::kInt64).integer, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(convert(f32(0.5), DType::kBool).integer, 1);
}

TEST(Scalar, SpecialFunctionsHaveTheirKnownValues) {
  auto at = [](Op op, double x) { return evaluate(op, DType::kFloat64, std::array{scalar_of(DType::kFloat64, x)}).real; };
  EXPECT_NEAR(at(Op::kDigamma, 1), -0.57721566490153286, 1e-14);
  EXPECT_NEAR(at(Op::kDigamma, -0.5), 0.03648997397857652, 1e-13);
  for (double x : {-0.999, -0.7, -0.1, 1e-9, 0.3, 0.9, 0.99999}) EXPECT_NEAR(std::erf(at(Op::kErfinv, x)), x, 1e-15);
  EXPECT_EQ(at(Op::kRelu, -1), 0);
  EXPECT_TRUE(std::isnan(at(Op::kRelu, NAN)));
}

TEST(Scalar, PhiloxGivesTheKnownAnswer) {
  EXPECT_EQ(philox_uint(0, 0), 0x6627e8d5u);  // the published vector for counter 0, key 0
  EXPECT_EQ(philox_uint(0, 1), 0xe169c58du);  // the other words of the same counter
  EXPECT_EQ(philox_uint(0, 2), 0xbc57ac4cu);
  EXPECT_EQ(philox_uint(0, 3), 0x9b00dbd8u);
  EXPECT_EQ(philox_uint(-1, -1) == philox_uint(0, 0), false);
}

}  // namespace
}  // namespace litz
