// tile_transposes: a pointwise group that reads along one axis and writes along another (NCHW <-> NHWC) would touch a new cache line
// with every element of one of them. Both axes are cut into tiles; what is read across goes through a tile in scratch.
//
//   for i, for j { out[i*n + j] = f(x[j*m + i]) }
//   -> for io, jo { for ji, ii { t[ii*T + ji] = x[(jo*T + ji)*m + io*T + ii] };  for ii, ji { out[...] = f(t[ii*T + ji]) } }
#include <algorithm>
#include <cstdlib>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

constexpr int64_t kLargestTile = 64, kSmallestTile = 16, kTile = 32;

bool is_unit(Expr c) { return c && c.is_integer(1); }
/// A stride that leaves no two neighbours in one cache line of any element type.
bool is_far(Expr c) { return c && !c.is_integer(0) && std::abs(estimate(c)) >= 16; }

bool is_pure_pointwise(const KernelPlan& plan) {
  return plan.serial_axes.empty() && std::ranges::all_of(plan.members, [](const PlannedMember& m) {
           return m.kind == OperationKind::kPointwise && m.kept.empty() && m.reduced.empty();
         });
}

/// The axis along which most is contiguous, stores counting more.
Expr main_axis(const KernelPlan& plan) {
  Expr best;
  double best_score = 0;
  for (Expr axis : plan.axes) {
    double score = 0;
    for (const PlannedMember& member : plan.members) {
      for (const Instr& instr : member.body.instrs) {
        if (instr.op == Op::kLoad && is_unit(coefficient_of(instr.coordinates[0], axis))) score += 1;
      }
      for (const PlannedStore& store : member.stores) {
        if (store.buffer && is_unit(coefficient_of(store.offset, axis))) score += 1.5;
      }
    }
    if (score > best_score) {
      best_score = score;
      best = axis;
    }
  }
  return best;
}

/// What the kernel itself stores is not there yet when tiles are filled.
bool is_stored_here(const KernelPlan& plan, const Buffer* buffer) {
  return std::ranges::any_of(plan.members, [&](const PlannedMember& member) {
    return std::ranges::any_of(member.stores, [&](const PlannedStore& store) { return store.buffer == buffer; });
  });
}

bool reads_across(const KernelPlan& plan, const Instr& instr, Expr main, Expr other) {
  return instr.op == Op::kLoad && !is_stored_here(plan, instr.buffer) && instr.operands[0] == kNoValue &&
         is_unit(coefficient_of(instr.coordinates[0], other)) && is_far(coefficient_of(instr.coordinates[0], main));
}

Expr crossing_axis(const KernelPlan& plan, Expr main) {
  for (const PlannedMember& member : plan.members) {
    for (const Instr& instr : member.body.instrs) {
      for (Expr axis : plan.axes) {
        if (axis != main && reads_across(plan, instr, main, axis)) return axis;
      }
    }
  }
  return Expr();
}

/// Tiles that divide the axis have no partial ones; multiples of 8 fill vectors.
int64_t tile_of(Expr axis) {
  auto extent = axis.extent().as_integer();
  if (!extent) return kTile;
  if (*extent <= kLargestTile) return *extent;
  for (int64_t unit : {8, 1}) {
    for (int64_t tile = kLargestTile; tile >= kSmallestTile; --tile) {
      if (*extent % tile == 0 && tile % unit == 0) return tile;
    }
  }
  return kTile;
}

class TransposeTiler {
 public:
  TransposeTiler(KernelPlan& plan, Expr main, Expr other)
      : plan_(plan),
        main_(main),
        other_(other),
        main_tile_(tile_of(main)),
        other_tile_(tile_of(other)) {}

  void run() {
    // Offsets decide which loads cross, so they are found before the axes change.
    std::vector<std::pair<size_t, size_t>> crossing;
    for (size_t m = 0; m < plan_.members.size(); ++m) {
      const Body& body = plan_.members[m].body;
      for (size_t k = 0; k < body.instrs.size(); ++k) {
        if (reads_across(plan_, body.instrs[k], main_, other_)) crossing.emplace_back(m, k);
      }
    }
    cut(main_, main_tile_);
    cut(other_, other_tile_);
    if (is_plain_copy()) {  // the tile is turned on its way, without scratch
      plan_.members[0].kept = {main_, other_};
      plan_.members[0].lane_axis = other_;
      return;
    }
    std::vector<PlannedMember> members;
    for (auto [m, k] : crossing) {
      if (auto copy = through_tile(plan_.members[m], k)) members.push_back(std::move(*copy));
    }
    for (PlannedMember& member : plan_.members) {
      member.kept = {other_, main_};
      members.push_back(std::move(member));
    }
    plan_.members = std::move(members);
  }

 private:
  /// One load, and what is stored is it.
  bool is_plain_copy() const {
    if (plan_.members.size() != 1 || plan_.members[0].stores.size() != 1) return false;
    const Body& body = plan_.members[0].body;
    if (body.instrs[0].op != Op::kLoad || body.instrs[0].dtype != plan_.members[0].stores[0].buffer->dtype) return false;
    const bool widens = body.instrs.size() == 2 && body.instrs[1].op == Op::kCast && body.yields[0] == 1;
    return widens || (body.instrs.size() == 1 && body.yields[0] == 0);
  }

  /// The axis becomes the one inside its tile; the one over tiles stays among the outer ones.
  void cut(Expr& axis, int64_t tile) {
    auto at = std::ranges::find(plan_.axes, axis);
    if (axis.extent().is_integer(tile)) {
      plan_.axes.erase(at);
      return;
    }
    ExprContext& context = *plan_.context;
    const std::string name(axis.symbol_name());
    Expr over = context.axis(name + "o", ceil_div(axis.extent(), tile));
    const bool divides = mod(axis.extent(), context.integer(tile)).is_integer(0);
    Expr inside = context.axis(name + "i", divides ? context.integer(tile) : min(context.integer(tile), axis.extent() - over * tile));
    *at = over;
    substitute_axes(plan_, {{axis, over * tile + inside}});
    axis = inside;
  }

  struct Tile {
    Memory memory;
    Memory source;
    Expr offset;
    Buffer* buffer;
  };

  /// Redirects the load to a tile; gives the member that fills it, unless the same element has one already.
  std::optional<PlannedMember> through_tile(PlannedMember& member, size_t k) {
    Instr& load = member.body.instrs[k];
    const Expr offset = load.coordinates[0];
    for (const Tile& t : tiles_) {
      if (t.source == member.loads[k] && t.offset == offset && t.buffer->dtype == load.dtype) {
        redirect(load, member.loads[k], t);
        return std::nullopt;
      }
    }
    plan_.temporaries.push_back(std::make_unique<Buffer>());
    Buffer* buffer = plan_.temporaries.back().get();
    buffer->name = "tile" + std::to_string(tiles_.size());
    buffer->dtype = load.dtype;
    KernelScratch scratch;
    scratch.name = buffer->name;
    scratch.dtype = load.dtype;
    scratch.elements = plan_.context->integer(main_tile_ * other_tile_);
    scratch.buffer = buffer;
    plan_.scratch.push_back(scratch);
    const Tile tile{Memory{true, static_cast<int>(plan_.scratch.size()) - 1}, member.loads[k], offset, buffer};
    tiles_.push_back(tile);
    PlannedMember copy;
    copy.operation = member.operation;
    copy.kept = {main_, other_};
    copy.lane_axis = other_;
    copy.body.instrs = {load};
    copy.body.yields = {0};
    copy.loads = {member.loads[k]};
    copy.stores = {PlannedStore{buffer, tile.memory, position(), ScatterMode::kStore}};
    redirect(load, member.loads[k], tile);
    return copy;
  }

  Expr position() const { return other_ * main_tile_ + main_; }

  void redirect(Instr& load, Memory& memory, const Tile& tile) const {
    load.buffer = tile.buffer;
    load.coordinates = {position()};
    memory = tile.memory;
  }

  KernelPlan& plan_;
  Expr main_, other_;
  const int64_t main_tile_, other_tile_;
  std::vector<Tile> tiles_;
};

}  // namespace

void tile_transposes(KernelPlan& plan) {
  if (!is_pure_pointwise(plan)) return;
  const Expr main = main_axis(plan);
  if (!main || estimate(main.extent()) < 8) return;
  const Expr other = crossing_axis(plan, main);
  if (!other || estimate(other.extent()) < 8) return;
  TransposeTiler(plan, main, other).run();
}

}  // namespace litz
