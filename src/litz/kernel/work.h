#pragma once
// How long a body takes, in units of a simple vector operation: for choices of lanes, unrolling and grain.
#include "litz/loop/body.h"

namespace litz {

double work_of(Op op);
double work_of(const Body& body);

}  // namespace litz
