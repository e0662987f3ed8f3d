#pragma once
// split_scan: a scan along few, long rows has too few independent iterations; every piece of a row is scanned apart, the last values of
// the pieces are scanned, and each value is combined with what the pieces before its own came to.
//
//   op s scan sum along 0 (i0 < 1000000) -> s { v0 = load x [i0]; yield v0 }
//     =>
//   op s_pieces scan sum along 1 (c < 488; r < 2050) -> s_pieces { p = 2050*c + r < 1000000; v0 = load x [2050*c + r] if p; yield v0 }
//   op s_totals scan sum along 0 (c < 488) -> s_totals { v0 = load s_pieces [c, 2049]; yield v0 }
//   op s pointwise (i0 < 1000000) -> s { v0 = load s_pieces [i0 // 2050, i0 % 2050]; v1 = load s_totals [i0 // 2050 - 1] if i0 >= 2050; ... }
//
// The number of pieces is fixed when compiling. Not split under exact_only: sums and products of floats round differently in pieces.
#include "litz/schedule/split_reduction.h"

namespace litz {

struct ScanSplitOptions {
  int64_t enough_rows = 4;        // rows from which no split is needed
  int64_t most_pieces = 1024;     // per row
  int64_t piece_elements = 2048;  // least work of a piece; rows shorter than eight are left
  bool exact_only = false;
};

bool split_scan(LoopProgram& program, std::vector<Refusal>& refusals, const ScanSplitOptions& options);

}  // namespace litz
