#pragma once
// How long a body takes, in units of a simple vector operation: for choices of lanes, unrolling and grain.
#include <span>

#include "litz/loop/cost.h"

namespace litz {

double work_of(const Body& body);
/// Of the instructions that depend on one of the axes: what a loop over them runs each time.
double work_inside(const Body& body, std::span<const Expr> axes);

}  // namespace litz
