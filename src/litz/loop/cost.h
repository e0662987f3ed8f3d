#pragma once
// What one iteration of a body costs: for limits of inlining and fusion, and for grain sizes. Counts, not times.
#include "litz/loop/body.h"

namespace litz {

struct BodyCost {
  int ops = 0;        // arithmetic instructions; constants, indices and loads do not count
  int heavy_ops = 0;  // of these: transcendental, division, indirection
  int loads = 0;
  int indirect_loads = 0;  // of these: at coordinates loaded from memory
};
BodyCost cost(const Body& body);
/// How long one op takes, in units of a simple vector operation.
double work_of(Op op);
/// Takes as long as a transcendental function or a division of integers.
bool is_heavy(Op op);
/// Takes several times as long as exp where arithmetic is wide: argument reduction, branches, long series.
bool is_slow(Op op);

}  // namespace litz
