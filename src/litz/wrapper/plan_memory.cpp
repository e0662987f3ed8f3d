#include "litz/wrapper/plan_memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "litz/support/check.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

struct Life {
  TensorId tensor = 0;
  size_t begin = 0, end = 0;  // lines of its allocation and of its free
  Expr bytes;                 // a multiple of the alignment
  Expr offset;
};

Expr storage_bytes(const WrapperTensor& t, ExprContext& context, int64_t alignment) {
  Expr last = context.integer(0);
  for (size_t d = 0; d < t.sizes.size(); ++d) last = last + (t.sizes[d] - 1) * t.strides[d];
  return ceil_div((last + 1) * dtype_bytes(t.dtype), context.integer(alignment)) * alignment;
}

/// Largest first, each at the lowest offset where it meets none that lives at the same time.
Expr place_numbers(std::vector<Life>& lives, ExprContext& context) {
  std::vector<Life*> order;
  for (Life& l : lives) order.push_back(&l);
  std::stable_sort(order.begin(), order.end(), [](const Life* a, const Life* b) { return a->bytes.integer() > b->bytes.integer(); });
  std::vector<Life*> placed;
  int64_t total = 0;
  for (Life* l : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Life* p : placed)
      if (p->begin <= l->end && l->begin <= p->end) taken.emplace_back(p->offset.integer(), p->offset.integer() + p->bytes.integer());
    std::sort(taken.begin(), taken.end());
    int64_t at = 0, best = -1, best_gap = kIntInf;
    for (const auto& [from, to] : taken) {
      const int64_t gap = from - at;
      if (gap >= l->bytes.integer() && gap < best_gap) best = at, best_gap = gap;
      at = std::max(at, to);
    }
    l->offset = context.integer(best >= 0 ? best : at);
    total = std::max(total, l->offset.integer() + l->bytes.integer());
    placed.push_back(l);
  }
  return context.integer(total);
}

/// Tensors of one size take turns in a slot; slots stand one behind the other.
Expr place_slots(std::vector<Life>& lives, ExprContext& context) {
  struct Slot {
    Expr bytes, offset;
    size_t free_from = 0;
  };
  std::vector<Slot> slots;
  Expr total = context.integer(0);
  for (Life& l : lives) {
    auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.bytes == l.bytes && s.free_from < l.begin; });
    if (slot == slots.end()) {
      slots.push_back({l.bytes, total, 0});
      total = total + l.bytes;
      slot = slots.end() - 1;
    }
    slot->free_from = l.end;
    l.offset = slot->offset;
  }
  return total;
}

constexpr int64_t kSizeFallback = 64;
constexpr int64_t kSmallArena = 1 << 20;  // bytes below which fewer allocations are worth more than a tight peak

/// Most bytes alive at one time among tensors that the call makes and `counts` accepts, by the hints of sizes.
int64_t peak_bytes(const WrapperProgram& program, int64_t alignment, const std::function<bool(TensorId)>& counts) {
  std::map<TensorId, int64_t> alive;
  int64_t now = 0, peak = 0;
  auto begin = [&](TensorId t) {
    if (t < 0 || !counts(t)) return;
    const int64_t bytes = size_hint(storage_bytes(program.tensors[t], *program.context, alignment), kSizeFallback);
    alive[t] = bytes;
    now += bytes;
    peak = std::max(peak, now);
  };
  for (const WrapperLine& line : program.lines) {
    if (auto* a = std::get_if<AllocateLine>(&line)) begin(a->tensor);
    if (auto* e = std::get_if<ExternCallLine>(&line))
      for (TensorId t : e->results) begin(t);
    if (auto* f = std::get_if<FreeLine>(&line))
      if (auto it = alive.find(f->tensor); it != alive.end()) {
        now -= it->second;
        alive.erase(it);
      }
  }
  return peak;
}

}  // namespace

bool plan_memory(WrapperProgram& program, int64_t alignment) {
  ExprContext& context = *program.context;
  std::map<std::pair<std::string, int>, std::vector<Life>> by_device;
  std::vector<size_t> freed(program.tensors.size(), 0);
  for (size_t k = 0; k < program.lines.size(); ++k)
    if (auto* f = std::get_if<FreeLine>(&program.lines[k])) freed[f->tensor] = k;
  for (size_t k = 0; k < program.lines.size(); ++k) {
    auto* a = std::get_if<AllocateLine>(&program.lines[k]);
    if (!a || a->escapes || freed[a->tensor] == 0) continue;
    const WrapperTensor& t = program.tensors[a->tensor];
    const bool is_unbacked = std::any_of(t.sizes.begin(), t.sizes.end(), [](Expr e) {
      const auto symbols = free_symbols(e);
      return std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.symbol_kind() == SymbolKind::kUnbacked; });
    });
    if (is_unbacked) continue;  // its size is not known when the arena is made
    by_device[{t.device.type, t.device.index}].push_back({a->tensor, k, freed[a->tensor], storage_bytes(t, context, alignment), {}});
  }
  std::vector<WrapperLine> arenas;
  std::map<TensorId, PlaceLine> places;
  for (auto& [device, lives] : by_device) {
    if (lives.size() < 2) continue;
    const bool all_numbers = std::all_of(lives.begin(), lives.end(), [](const Life& l) { return l.bytes.is_integer(); });
    const Expr total = all_numbers ? place_numbers(lives, context) : place_slots(lives, context);
    // An arena lives as long as the call: where that would raise the peak, tensors stay allocations of their own.
    const int64_t arena_bytes = size_hint(total, kSizeFallback);
    if (arena_bytes > kSmallArena) {
      std::set<TensorId> inside;
      for (const Life& l : lives) inside.insert(l.tensor);
      const int64_t apart = peak_bytes(program, alignment, [](TensorId) { return true; });
      const int64_t beside = peak_bytes(program, alignment, [&](TensorId t) { return !inside.contains(t); });
      if (arena_bytes + beside > apart) continue;
    }
    const int32_t arena = static_cast<int32_t>(arenas.size());
    arenas.push_back(ArenaLine{arena, total, Device{device.first, device.second}});
    for (const Life& l : lives) places[l.tensor] = PlaceLine{l.tensor, arena, l.offset};
  }
  if (arenas.empty()) return false;
  std::vector<WrapperLine> lines = std::move(arenas);
  for (WrapperLine& line : program.lines) {
    auto* a = std::get_if<AllocateLine>(&line);
    auto place = a ? places.find(a->tensor) : places.end();
    if (place != places.end()) lines.push_back(place->second);
    else lines.push_back(std::move(line));
  }
  program.lines = std::move(lines);
  return true;
}

}  // namespace litz
