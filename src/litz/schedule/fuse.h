#pragma once
// fuse: joins operations into groups that run as one kernel. Starts from one group per operation; candidates are pairs that share
// a buffer (producer and reader, or two readers), taken in order of the bytes that joining saves, as long as can_fuse agrees and no
// path through a third group would become a cycle.
//
//   group0 (i0 < s0) { mean, m2 = reduction welford over r0 of x[i0, r0] }     group1 (i0 < s0, i1 < 768) { y[i0, i1] = ... mean[i0, 0] ... }
//     =>
//   group0 (i0 < s0) { mean, m2 = ... r0 ...; y[i0, i1] = ... for local i1 }
//
// Holds afterwards: the invariant of FusedGroup (verify checks it); groups are in an order that respects every dependence; each
// pair that was considered and not joined left a Refusal.
#include "litz/schedule/fused_group.h"

namespace litz {

struct FuseOptions {
  int max_members = 64;
  int64_t parallel_work = 1 << 15;                     // elements of work from which a group must keep enough independent iterations
  int64_t min_parallel = 4;                            // that many
  int64_t max_bytes_between_loops = int64_t{1} << 62;  // what an iteration may keep between loops of its own: a cache, if there is one
  int lanes = 1;                                       // iterations that a vector handles at once
  bool slow_may_wait = true;    // whether a longer loop may follow slow ops; in a program of a grid all threads would compute them
  bool rows_may_differ = true;  // whether an iteration may walk rows of several lengths; a program of a grid holds one row
};

void fuse(Schedule& schedule, const FuseOptions& options = {});

}  // namespace litz
