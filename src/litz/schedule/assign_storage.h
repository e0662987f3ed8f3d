#pragma once
// assign_storage: says which buffers live in another buffer's storage. A new version of an input takes the input's storage when
// every reader of the old version has run before (or reads, in the same kernel, the very element that is being replaced); otherwise
// the new version is computed in storage of its own and copied over at the end.
//
//   op2 -> x@1 (version of x@0), x@0 read by op0 before   =>   storage x@1 = x@0
#include "litz/schedule/fused_group.h"

namespace litz {

void assign_storage(Schedule& schedule);

/// Members' outputs that are read only inside their group and not returned: filled into FusedGroup::internal_buffers.
void find_internal_buffers(Schedule& schedule);

/// Names groups after the ops that they came from.
void name_groups(Schedule& schedule);

}  // namespace litz
