// map_blocks: for targets that run a grid of blocks. The outer loops become one axis x (two, y and x, where the group reads along one
// axis and writes along another), of which a program of the grid takes a block; a member's local loops become one axis r, held whole
// by the block where it is short enough and walked in blocks otherwise.
//
//   outer i0 < 16, i1 < 512; local r0 < 768   ->   x < 8192 step 1; r < 768 step 1024, whole
//
// A scan walks its axis as a reduction does. What the block cannot hold (several kept local axes) stays a plain loop inside: slower, and
// as right.
#include <algorithm>
#include <bit>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

constexpr int64_t kWholeElements = 8192;      // of a row that one block holds in registers
constexpr int64_t kReductionElements = 2048;  // of a block that reduces
constexpr int64_t kWideElements = 16384;      // of a block whose rows are read or written across
constexpr int64_t kSectorRows = 16;           // 32 bytes of two-byte elements
constexpr int64_t kTileSide = 32;
constexpr int kColumnValues = 8;           // loads of a body that make columns worth a tile: the weights of a window
constexpr int64_t kColumnElements = 2048;  // of such a tile, at most
constexpr int64_t kMostColumns = 64;
constexpr int64_t kSortElements = 1024;  // of a block that sorts

int64_t power_of_two_at_least(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n)))); }

bool contains(std::span<const Expr> axes, Expr axis) { return std::ranges::find(axes, axis) != axes.end(); }

struct UnitStride {
  int64_t load_bytes = 0, store_bytes = 0;  // per element, of accesses that are contiguous along the axis
};

/// Whether the offset changes with the axis, or may: it depends on what was loaded.
bool moves_along(Expr offset, Expr axis) {
  return std::ranges::any_of(free_symbols(offset), [&](Expr s) { return s == axis || s.symbol_kind() == SymbolKind::kIndirect; });
}

/// `along`: of those alone that move along this axis too.
UnitStride unit_stride(const KernelPlan& plan, Expr axis, Expr along = {}) {
  UnitStride out;
  auto is_unit = [&](Expr offset) {
    Expr c = coefficient_of(offset, axis);
    return c && c.is_integer(1) && (!along || moves_along(offset, along));
  };
  for (const PlannedMember& member : plan.members) {
    for (size_t k = 0; k < member.body.instrs.size(); ++k) {
      const Instr& instr = member.body.instrs[k];
      if (instr.op == Op::kLoad && !member.loads[k].is_scratch && is_unit(instr.coordinates[0])) out.load_bytes += dtype_bytes(instr.dtype);
    }
    for (const PlannedStore& store : member.stores) {
      if (store.buffer && !store.memory.is_scratch && is_unit(store.offset)) out.store_bytes += dtype_bytes(store.buffer->dtype);
    }
  }
  return out;
}

bool has_local_axes(const KernelPlan& plan) {
  return std::ranges::any_of(plan.members, [](const PlannedMember& m) { return !m.kept.empty() || !m.reduced.empty(); });
}

/// A group of one scatter, or of one pointwise member with loops of its own: its iterations are independent.
void share_out_single_member(KernelPlan& plan) {
  if (plan.members.size() != 1 || !plan.members[0].reduced.empty()) return;
  PlannedMember& member = plan.members[0];
  const bool is_apart = member.kind == OperationKind::kPointwise ||
                        (member.kind == OperationKind::kScatter &&
                         std::ranges::none_of(member.stores, [](const PlannedStore& s) { return s.mode == ScatterMode::kMul; }));
  if (!is_apart) return;
  plan.axes.insert(plan.axes.end(), member.kept.begin(), member.kept.end());
  member.kept.clear();
}

/// The axes as one, the last the fastest.
Expr flatten_axes(KernelPlan& plan, const char* name, std::span<const Expr> axes) {
  if (axes.size() == 1) return axes[0];
  std::vector<Expr> sizes;
  for (Expr axis : axes) sizes.push_back(axis.extent());
  Expr flat = plan.context->axis(name, product(*plan.context, sizes));
  std::vector<Expr> parts = unflatten(flat, sizes);
  Substitution map;
  for (size_t k = 0; k < axes.size(); ++k) map.emplace_back(axes[k], parts[k]);
  substitute_axes(plan, map);
  return flat;
}

struct Tile {
  Expr written, read;  // the axis along which most stores are contiguous, and that of loads or of other stores
};

Tile find_tile(const KernelPlan& plan, std::span<const Expr> axes) {
  Tile tile;
  int64_t most_stored = 0, most_loaded = 0;
  for (Expr axis : axes) {
    if (int64_t bytes = unit_stride(plan, axis).store_bytes; bytes > most_stored) most_stored = bytes, tile.written = axis;
  }
  for (Expr axis : axes) {
    if (axis == tile.written) continue;
    const UnitStride other = unit_stride(plan, axis);
    if (int64_t bytes = other.load_bytes + other.store_bytes; bytes > most_loaded) most_loaded = bytes, tile.read = axis;
  }
  if (!tile.written || !tile.read) return {};
  // Few rows leave lanes of a tile idle: too many for what is read once for a whole row.
  int64_t rows = 1;
  for (Expr axis : axes)
    if (axis != tile.written) rows *= estimate(axis.extent());
  const UnitStride turned = unit_stride(plan, tile.read, tile.written);
  if (rows < kTileSide && turned.load_bytes + turned.store_bytes == 0) return {};
  const bool is_worth_it = estimate(tile.written.extent()) >= kTileSide / 4 && estimate(tile.read.extent()) >= kTileSide / 4;
  return is_worth_it ? tile : Tile{};
}

/// The axis, written with unit stride, along which a window has its weights: values that move along it alone are read once for all rows of
/// a tile instead of for each element. Where fewer elements than weights are read (the norms of two branches) one long block is as fast.
Expr find_columns(const KernelPlan& plan, std::span<const Expr> axes) {
  for (Expr axis : axes) {
    if (unit_stride(plan, axis).store_bytes == 0) continue;
    int weights = 0, elements = 0;
    for (const PlannedMember& member : plan.members) {
      for (size_t k = 0; k < member.body.instrs.size(); ++k) {
        const Instr& instr = member.body.instrs[k];
        if (instr.op != Op::kLoad || member.loads[k].is_scratch || !depends_on(instr.coordinates[0], axis)) continue;
        const bool moves = std::ranges::any_of(axes, [&](Expr other) { return other != axis && moves_along(instr.coordinates[0], other); });
        ++(moves ? elements : weights);
      }
    }
    if (std::min(weights, elements) >= kColumnValues) return axis;
  }
  return {};
}

/// A whole row of columns where lanes divide it, pieces of a tile's side otherwise.
int columns_of_tile(Expr axis) {
  const int64_t columns = power_of_two_at_least(estimate(axis.extent()));
  return static_cast<int>(columns <= kMostColumns && axis.extent().is_integer(columns) ? columns : std::min(columns, kTileSide));
}

void map_outer(KernelPlan& plan) {
  std::vector<Expr> parallel, serial;
  for (Expr axis : plan.axes) (contains(plan.serial_axes, axis) ? serial : parallel).push_back(axis);
  std::ranges::stable_sort(parallel, [&](Expr a, Expr b) { return stride_score(plan, a) > stride_score(plan, b); });
  plan.axes.clear();
  if (!parallel.empty()) {
    Tile tile = has_local_axes(plan) ? Tile{} : find_tile(plan, parallel);
    const Expr columns = tile.written || has_local_axes(plan) || parallel.size() < 2 ? Expr() : find_columns(plan, parallel);
    if (columns) {
      std::vector<Expr> rest;
      for (Expr axis : parallel) {
        if (axis != columns) rest.push_back(axis);
      }
      const int step = columns_of_tile(columns);
      const Expr y = flatten_axes(plan, "y", rest);
      const int64_t elements = estimate(y.extent()) * estimate(columns.extent());
      int64_t tile = kColumnElements;
      while (tile > kColumnElements / 8 && elements / tile < 2 * plan.facts->multiprocessors) tile /= 2;
      plan.blocks = {{y, static_cast<int>(std::max<int64_t>(1, tile / step))}, {columns, step}};
    } else if (tile.written) {
      std::vector<Expr> rest;
      for (Expr axis : parallel) {
        if (axis != tile.written && axis != tile.read) rest.push_back(axis);
      }
      rest.push_back(tile.read);
      Expr y = flatten_axes(plan, "y", rest);
      plan.blocks = {{y, kTileSide}, {tile.written, kTileSide}};
    } else {
      plan.blocks = {{flatten_axes(plan, "x", parallel), 1}};
    }
  }
  for (const auto& [axis, step] : plan.blocks) plan.axes.push_back(axis);
  plan.axes.insert(plan.axes.end(), serial.begin(), serial.end());
}

/// How many elements the last axis, the last two and so on have; empty where a size is not known.
std::vector<int64_t> inner_elements(std::span<const Expr> sizes) {
  std::vector<int64_t> out;
  int64_t elements = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    if (!sizes[k].is_integer() || sizes[k].integer() < 1) return {};
    if (sizes[k].integer() > 1) out.push_back(elements *= sizes[k].integer());
  }
  return out;
}

/// Whether one list is the other with neighbours multiplied: both number the same elements in the same order.
bool is_same_walk(std::span<const Expr> a, std::span<const Expr> b) {
  const std::vector<int64_t> x = inner_elements(a), y = inner_elements(b);
  return !x.empty() && !y.empty() && x.back() == y.back() && (std::ranges::includes(x, y) || std::ranges::includes(y, x));
}

/// Members that walk equal spaces get one axis.
class LocalFlattener {
 public:
  explicit LocalFlattener(KernelPlan& plan) : plan_(plan) {}

  void run() {
    for (PlannedMember& member : plan_.members) {
      if (member.kind == OperationKind::kReduction) sort_by_strides(member);
      flatten(member, member.reduced.empty() ? member.kept : member.reduced);
    }
  }

 private:
  /// The order of combining is free; what other members hand over lies in their order.
  void sort_by_strides(PlannedMember& member) {
    for (size_t k = 0; k < member.body.instrs.size(); ++k) {
      const Instr& instr = member.body.instrs[k];
      if (instr.op != Op::kLoad || !member.loads[k].is_scratch) continue;
      if (std::ranges::any_of(member.reduced, [&](Expr axis) { return depends_on(instr.coordinates[0], axis); })) return;
    }
    std::ranges::stable_sort(member.reduced, [&](Expr a, Expr b) { return stride_score(plan_, a) > stride_score(plan_, b); });
  }

  void flatten(PlannedMember& member, std::vector<Expr>& axes) {
    if (axes.empty()) return;
    std::vector<Expr> sizes;
    for (Expr axis : axes) sizes.push_back(axis.extent());
    Expr flat;
    for (const auto& [known, axis] : spaces_) {
      if (known == sizes || is_same_walk(known, sizes)) flat = axis;
    }
    if (!flat) {
      flat = axes.size() == 1 ? axes[0] : plan_.context->axis("r", product(*plan_.context, sizes));
      spaces_.emplace_back(sizes, flat);
    }
    std::vector<Expr> parts = unflatten(flat, sizes);
    Substitution map;
    for (size_t k = 0; k < axes.size(); ++k) {
      if (axes[k] != parts[k]) map.emplace_back(axes[k], parts[k]);
    }
    if (!map.empty()) for_each_expr(member, [&](Expr& e) { e = substitute(e, map); });
    axes = {flat};
  }

  KernelPlan& plan_;
  std::vector<std::pair<std::vector<Expr>, Expr>> spaces_;
};

/// The one local axis that all members with local loops walk, each as a whole; null if there is no such.
Expr common_local_axis(const KernelPlan& plan) {
  Expr common;
  for (const PlannedMember& m : plan.members) {
    if (m.kept.empty() && m.reduced.empty()) continue;
    const std::vector<Expr>& axes = m.kept.empty() ? m.reduced : m.kept;
    if (axes.size() != 1 || (!m.kept.empty() && !m.reduced.empty())) return {};
    if (common && axes[0] != common) return {};
    common = axes[0];
  }
  return common;
}

int64_t loop_values(const KernelPlan& plan) {
  int64_t n = 0;
  for (const PlannedMember& m : plan.members) n += static_cast<int64_t>(m.body.instrs.size());
  return n;
}

int pointwise_block(const KernelPlan& plan, int64_t elements) {
  int64_t block = elements >= 1 << 22 ? 2048 : elements >= 1 << 20 ? 1024 : elements >= 1 << 17 ? 512 : 256;
  if (loop_values(plan) > 40) block = std::min<int64_t>(block, 1024);
  if (loop_values(plan) > 80) block = std::min<int64_t>(block, 512);
  return static_cast<int>(std::min(block, power_of_two_at_least(elements)));
}

/// How members that loop inside an iteration read and write, in bytes an element: contiguous along their own loops (rows lie in memory),
/// or along an outer axis (a sum of columns; a normalised matrix stored transposed). Loads count twice. What does not move along both is
/// one access for a whole row and not counted.
struct Walk {
  int64_t along = 0, across = 0;
};

Walk find_walk(const KernelPlan& plan) {
  Walk walk;
  for (const PlannedMember& member : plan.members) {
    std::vector<Expr> local = member.kept;
    local.insert(local.end(), member.reduced.begin(), member.reduced.end());
    if (local.empty()) continue;
    auto count = [&](Expr offset, int64_t bytes) {
      auto is_unit = [&](Expr axis) {
        const Expr c = coefficient_of(offset, axis);
        return c && c.is_integer(1) && estimate(axis.extent()) > 1;
      };
      if (std::ranges::none_of(local, [&](Expr axis) { return depends_on(offset, axis); })) return;
      if (std::ranges::any_of(local, is_unit)) walk.along += bytes;
      else if (std::ranges::any_of(plan.axes, [&](Expr axis) { return is_unit(axis) && estimate(axis.extent()) >= kSectorRows; }))
        walk.across += bytes;
    };
    for (size_t k = 0; k < member.body.instrs.size(); ++k) {
      const Instr& instr = member.body.instrs[k];
      if (instr.op == Op::kLoad && !member.loads[k].is_scratch) count(instr.coordinates[0], 2 * dtype_bytes(instr.dtype));
    }
    for (const PlannedStore& store : member.stores) {
      if (store.buffer && !store.memory.is_scratch) count(store.offset, dtype_bytes(store.buffer->dtype));
    }
  }
  return walk;
}

struct ReductionBlock {
  int64_t x = 1, r = 1;
};

bool sorts(const PlannedMember& member) { return member.kind == OperationKind::kScan && is_sort(member.reduction); }

/// The longest row that is sorted, as a block's size; 0: nothing is.
int64_t sorted_row(const KernelPlan& plan) {
  int64_t row = 0;
  for (const PlannedMember& member : plan.members) {
    for (Expr axis : member.reduced)
      if (sorts(member)) row = std::max(row, power_of_two_at_least(estimate(axis.extent())));
  }
  return row;
}

/// Fewer rows than a memory sector holds would touch each sector several times.
void widen_to_sectors(ReductionBlock& block) {
  if (block.r > kWideElements / 4) block.r = kWideElements / kSectorRows;
  block.x = std::max(block.x, std::min(kSectorRows, kWideElements / block.r));
}

ReductionBlock reduction_block(const KernelPlan& plan, Expr r, const Walk& walk) {
  const int64_t row = power_of_two_at_least(estimate(r.extent()));
  const bool known = r.extent().is_integer();
  ReductionBlock block;
  if (plan.blocks.empty() || walk.along >= walk.across) {
    block.r = known && row <= kWholeElements ? row : kReductionElements;
    block.x = std::max<int64_t>(1, std::min<int64_t>(kReductionElements / 2 / block.r, 64));
    if (walk.across) widen_to_sectors(block);
  } else {
    block.x = 64;
    block.r = known && row <= 64 ? row : 32;
    if (known && row <= 512 && row > 64) block = {16, row};
    // Long columns: narrower blocks, down to a sector, keep the device busy.
    const int64_t columns = estimate(plan.blocks[0].first.extent());
    while (block.x > kSectorRows && block.r < row && columns / block.x < 4 * plan.facts->multiprocessors) block.x /= 2, block.r *= 2;
    while (block.x * block.r < kWideElements && block.r < row && columns / block.x < 2 * plan.facts->multiprocessors) block.r *= 2;
  }
  if (sorted_row(plan)) block = {std::clamp<int64_t>(kSortElements / row, 1, 64), row};
  if (!plan.blocks.empty()) block.x = std::min(block.x, power_of_two_at_least(estimate(plan.blocks[0].first.extent())));
  return block;
}

}  // namespace

void map_blocks(KernelPlan& plan) {
  share_out_single_member(plan);
  const Walk walk = find_walk(plan);
  map_outer(plan);
  LocalFlattener(plan).run();
  form_nests(plan);
  if (!has_local_axes(plan)) {
    if (plan.blocks.size() == 1) plan.blocks[0].second = pointwise_block(plan, estimate(plan.blocks[0].first.extent()));
    return;
  }
  int64_t room = 1;
  if (Expr common = common_local_axis(plan)) {
    const ReductionBlock block = reduction_block(plan, common, walk);
    if (walk.along < walk.across) room = block.r;
    if (!plan.blocks.empty()) plan.blocks[0].second = static_cast<int>(block.x);
    if (auto extent = common.extent().as_integer(); extent && *extent <= block.r) {
      plan.whole_axis = common;
      plan.whole_step = static_cast<int>(block.r);
      for (PlannedNest& nest : plan.nests) {
        nest.axes.clear();
        nest.kept_count = 0;
      }
      return;
    }
  } else if (!plan.blocks.empty()) {
    const int64_t most = sorted_row(plan) ? std::clamp<int64_t>(kSortElements / sorted_row(plan), 1, 128) : 128;
    plan.blocks[0].second = static_cast<int>(std::min(most, power_of_two_at_least(estimate(plan.blocks[0].first.extent()))));
  }
  room = plan.blocks.empty() ? kReductionElements : std::max<int64_t>(room, 2 * kReductionElements / plan.blocks[0].second);
  for (PlannedNest& nest : plan.nests) {
    if (nest.axes.empty()) continue;
    nest.lane_axis = nest.axes.back();
    const int64_t row = power_of_two_at_least(estimate(nest.lane_axis.extent()));
    const bool takes_rows = std::ranges::any_of(nest.members, [](const PlannedMember* m) { return sorts(*m); });
    nest.step = static_cast<int>(takes_rows ? row : std::min(room, row));
  }
}

}  // namespace litz
