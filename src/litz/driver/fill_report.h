#pragma once
// fill_report: counts what the compile became, for litz.last_report() and litz.explain().
#include "litz/driver/compile_state.h"

namespace litz {

void fill_report(CompileState& state);

}  // namespace litz
