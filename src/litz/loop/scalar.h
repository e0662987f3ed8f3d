#pragma once
// One element and what every op does to it: the meaning of ops.def, written for reading and not for speed. The reference
// interpreter and constant folding use it; nothing that is generated does.
#include <cstdint>
#include <span>

#include "litz/loop/body.h"

namespace litz {

/// Integers and bools stand in `integer`, wrapped to the type (uint64 as its bits); floats in `real`, rounded to the type.
struct Scalar {
  DType dtype = DType::kFloat32;
  int64_t integer = 0;
  double real = 0;
  bool is_zero() const { return is_floating(dtype) ? real == 0 : integer == 0; }
  Number number() const { return is_floating(dtype) ? Number::of(real) : Number::of(integer); }
};

/// Rounded or wrapped to the type. Not complex.
Scalar scalar_of(DType dtype, double value);
Scalar scalar_of(DType dtype, int64_t value);
Scalar scalar_of(DType dtype, const Number& value);
/// tensor.to(dtype) of one element. Floats outside an integer type's range give what the host's conversion gives.
Scalar convert(const Scalar& value, DType dtype);

/// A plain op (LITZ_OP). `dtype` is the instruction's. Integer division by zero throws UserError.
Scalar evaluate(Op op, DType dtype, std::span<const Scalar> operands);

/// Elements in memory.
Scalar read_element(DType dtype, const void* address);
void write_element(const Scalar& value, void* address);

/// philox4x32-10, lane 0.
uint32_t philox_uint(int64_t seed, int64_t offset);

}  // namespace litz
