#pragma once
// Coordinates to memory: a buffer's layout, and the storage it shares, as (storage, element offset).
#include "litz/schedule/fused_group.h"

namespace litz {

struct Place {
  Buffer* storage = nullptr;  // the representative that the kernel gets a pointer of
  Expr offset;                // elements of the accessed buffer's type, from that pointer
};

/// The layout must be decided. Pointers that kernels get have the storage's own offset applied.
Place linearize(const Buffer& buffer, std::span<const Expr> coordinates, const Schedule& schedule, ExprContext& context);

}  // namespace litz
