#include "litz/symbolic/expr_context.h"

#include <algorithm>

#include "litz/symbolic/computed.h"
#include "litz/symbolic/evaluate.h"
#include "litz/symbolic/expr_range.h"

namespace litz {
namespace {

ValueRange range_of(ExprKind kind, std::span<const Expr> operands) {
  auto fold = [&](auto combine) {
    ValueRange range = operands[0].range();
    for (Expr operand : operands.subspan(1)) range = combine(range, operand.range());
    return range;
  };
  switch (kind) {
    case ExprKind::kAdd: return fold(range_add);
    case ExprKind::kMul: {
      // A square is not negative, whatever its base: pairs of equal factors are taken together.
      ValueRange range{1, 1};
      for (size_t i = 0; i < operands.size(); ++i) {
        ValueRange factor = operands[i].range();
        if (i + 1 < operands.size() && operands[i] == operands[i + 1]) {
          factor = range_mul(factor, factor);
          if (operands[i].range().lower < 0) factor.lower = 0;
          ++i;
        }
        range = range_mul(range, factor);
      }
      return range;
    }
    case ExprKind::kFloorDiv: return range_floor_div(operands[0].range(), operands[1].range());
    case ExprKind::kMod: return range_mod(operands[0].range(), operands[1].range());
    case ExprKind::kMin: return fold(range_min);
    case ExprKind::kMax: return fold(range_max);
    case ExprKind::kSelect: return range_union(operands[1].range(), operands[2].range());
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot: return {0, 1};
    case ExprKind::kInteger:
    case ExprKind::kSymbol: break;
  }
  return {};
}

uint8_t flags_of(ExprKind kind, std::span<const Expr> operands) {
  uint8_t inherited = kFlagCompound | kFlagLoopSymbol;
  uint8_t any = 0, all = 0xff;
  for (Expr operand : operands) {
    any |= operand.node()->flags;
    all &= operand.node()->flags;
  }
  uint8_t flags = any & inherited;
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
      flags |= any & kFlagModFactor;
      // Sums of distinct symbols with constant bounds, each times a constant: their terms vary independently.
      if (all & kFlagExactRange) {
        if (kind == ExprKind::kAdd || (operands.size() == 2 && operands[0].is_integer())) flags |= kFlagExactRange;
      }
      return flags;
    case ExprKind::kMod: return flags | kFlagModFactor | kFlagCompound;
    case ExprKind::kFloorDiv:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kSelect: return flags | kFlagCompound;
    default: return flags | kFlagCompound | kFlagBoolean;
  }
}

// Samples. Arithmetic that leaves 64 bits, divides by zero or enters an empty loop has no value there.
constexpr uint8_t kAllSamples = (1 << ExprNode::kSamples) - 1;

void sample_node(ExprNode& node) {
  std::span<const Expr> operands(node.operands, node.operand_count);
  node.valid_samples = kAllSamples;
  for (Expr operand : operands) node.valid_samples &= operand.node()->valid_samples;
  for (int k = 0; k < ExprNode::kSamples; ++k) {
    int64_t value = operands[0].node()->samples[k];
    bool valid = true;
    if (node.kind == ExprKind::kSelect) {
      value = operands[value ? 1 : 2].node()->samples[k];
    } else if (node.kind == ExprKind::kNot) {
      value = !value;
    } else {
      for (size_t i = 1; i < operands.size() && valid; ++i) valid = combine_integers(node.kind, value, operands[i].node()->samples[k]);
    }
    node.samples[k] = value;
    if (!valid) node.valid_samples &= ~(1 << k);
  }
}

// Point 0: loop variables at 0, sizes at their least. 1: loop variables at their last, sizes near their least. 2:
// anywhere. 3: loop variables at their last, large sizes.
void sample_symbol(ExprNode& node, uint32_t ordinal) {
  Expr extent = node.symbol->extent;
  node.valid_samples = kAllSamples;
  for (int k = 0; k < ExprNode::kSamples; ++k) {
    uint64_t noise = hash_mix(ordinal + 1, uint64_t(k) + 1) >> 20;
    if (extent) {
      bool empty = extent.node()->samples[k] <= 0 || !(extent.node()->valid_samples >> k & 1);
      if (empty) node.valid_samples &= ~(1 << k);
      int64_t last = empty ? 0 : extent.node()->samples[k] - 1;
      node.samples[k] = k == 0 ? 0 : k == 2 ? int64_t(noise % uint64_t(last + 1)) : last;
      continue;
    }
    constexpr uint64_t kSpread[] = {1, 3, 40, 1000};
    int64_t base = node.range.lower == -kIntInf ? std::min<int64_t>(node.range.upper, 20) - 40 : node.range.lower;
    int64_t value;
    if (__builtin_add_overflow(base, int64_t(noise % kSpread[k]), &value)) value = base;
    node.samples[k] = std::min(value, node.range.upper);
  }
}

int rank(Expr e) {
  if (!e.is_symbol()) return 2;
  switch (e.symbol_kind()) {
    case SymbolKind::kAxis: return 0;
    case SymbolKind::kIndirect: return 1;
    case SymbolKind::kUnbacked: return 3;
    case SymbolKind::kSize: return 4;
  }
  return 4;
}

}  // namespace

int64_t Expr::integer() const {
  LITZ_CHECK(is_integer(), "{} is not an integer", to_string(*this));
  return node_->value;
}

void fail_overflow(int64_t a, char operation, int64_t b) {
  throw ExprOverflow(fmt::format("integer expression leaves 64 bits: {} {} {}", a, operation, b));
}

void fail_contexts(Expr a, Expr b) {
  LITZ_CHECK(a && b, "an operand is a null expression");
  fail_check(__FILE__, __LINE__, "same context", fmt::format("{} and {} are of different contexts", to_string(a), to_string(b)));
}

std::strong_ordering compare_exprs(Expr a, Expr b) {
  if (a == b) return std::strong_ordering::equal;
  if (auto order = rank(a) <=> rank(b); order != 0) return order;
  if (a.is_symbol()) return a.id() <=> b.id();
  if (auto order = a.kind() <=> b.kind(); order != 0) return order;
  if (a.is_integer()) return a.node()->value <=> b.node()->value;
  // Only the first operands that differ are looked into, so the cost is that of one path.
  std::span<const Expr> left = a.operands(), right = b.operands();
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    if (left[i] != right[i]) return compare_exprs(left[i], right[i]);
  return left.size() <=> right.size();
}

ExprContext::Impl::Impl(ExprContext& owner) : context(owner), memos(new Memo[kMemoSize]) {}
ExprContext::Impl::~Impl() = default;

Expr ExprContext::Impl::integer(int64_t value) {
  bool small = value >= -16 && value < kSmallIntegers;
  if (small && small_integers[value + 16]) return Expr(small_integers[value + 16]);
  uint64_t hash = hash_mix(uint64_t(ExprKind::kInteger), uint64_t(value));
  const ExprNode* node = table.find_or_insert(
      hash, [&](const ExprNode& other) { return other.kind == ExprKind::kInteger && other.value == value; },
      [&] {
        auto* made = arena.create<ExprNode>();
        made->kind = ExprKind::kInteger;
        made->flags = kFlagExactRange;
        made->id = next_id++;
        made->hash = uint32_t(hash);
        made->value = value;
        int64_t bound = std::max(value, -kIntInf);
        made->range = {bound, bound};
        made->context = &context;
        made->core = Expr(made);
        made->valid_samples = kAllSamples;
        std::fill_n(made->samples, ExprNode::kSamples, value);
        return made;
      });
  if (small) small_integers[value + 16] = node;
  return Expr(node);
}

Expr ExprContext::Impl::intern(ExprKind kind, std::span<const Expr> operands) {
  uint64_t hash = hash_mix(uint64_t(kind) + 0x51, operands.size());
  for (Expr operand : operands) hash = hash_mix(hash, operand.id());
  auto equal = [&](const ExprNode& other) {
    return other.kind == kind && other.operand_count == operands.size() && std::equal(operands.begin(), operands.end(), other.operands);
  };
  // The core is interned first: the table must not be touched while a slot of it is being filled.
  bool scaled = kind == ExprKind::kMul && operands[0].is_integer();
  Expr core;
  if (scaled) core = operands.size() == 2 ? operands[1] : intern(ExprKind::kMul, operands.subspan(1));
  const ExprNode* node = table.find_or_insert(hash, equal, [&] {
    auto* made = arena.create<ExprNode>();
    made->kind = kind;
    made->flags = flags_of(kind, operands);
    made->id = next_id++;
    made->hash = uint32_t(hash);
    if (scaled) made->value = operands[0].node()->value;
    if (kind == ExprKind::kAdd && operands.back().is_integer()) made->value = operands.back().node()->value;
    made->range = range_of(kind, operands);
    for (Expr operand : operands) made->symbol_mask |= operand.node()->symbol_mask;
    made->context = &context;
    made->operands = arena.copy(operands).data();
    made->operand_count = uint32_t(operands.size());
    made->core = scaled ? core : Expr(made);
    sample_node(*made);
    return made;
  });
  return Expr(node);
}

Expr ExprContext::Impl::new_symbol(std::string_view name, SymbolKind kind, ValueRange range, Expr extent, std::optional<int64_t> hint) {
  LITZ_CHECK(range.lower <= range.upper, "symbol {} has an empty range [{}, {}]", name, range.lower, range.upper);
  auto* made = arena.create<ExprNode>();
  made->kind = ExprKind::kSymbol;
  made->symbol_kind = kind;
  if (!extent || extent.is_integer()) made->flags |= kFlagExactRange;
  if (extent) made->flags |= kFlagLoopSymbol;
  made->id = next_id++;
  made->hash = uint32_t(hash_mix(uint64_t(ExprKind::kSymbol), made->id));
  made->range = range;
  made->symbol_mask = uint64_t{1} << (next_symbol & 63);
  made->context = &context;
  made->core = Expr(made);
  made->symbol = arena.create<SymbolData>(SymbolData{arena.copy(name), extent, hint.has_value(), hint.value_or(0)});
  sample_symbol(*made, next_symbol++);
  symbols.emplace(made->symbol->name, Expr(made));
  return Expr(made);
}

std::string ExprContext::Impl::unique_name(std::string_view name) {
  LITZ_CHECK(!name.empty(), "a symbol needs a name");
  std::string candidate(name);
  if (!symbols.contains(candidate)) return candidate;
  uint32_t& counter = name_counters[std::string(name)];
  do candidate = fmt::format("{}_{}", name, ++counter);
  while (symbols.contains(candidate));
  return candidate;
}

ExprContext::ExprContext() : impl_(std::make_unique<Impl>(*this)) {}
ExprContext::~ExprContext() = default;

Expr ExprContext::integer(int64_t value) { return impl_->integer(value); }

Expr ExprContext::symbol(std::string_view name, SymbolKind kind, ValueRange range, std::optional<int64_t> hint) {
  LITZ_CHECK(kind == SymbolKind::kSize || kind == SymbolKind::kUnbacked, "{} is a loop symbol: make it by axis or indirect", name);
  if (Expr known = find_symbol(name)) {
    LITZ_CHECK(known.symbol_kind() == kind && known.range() == range, "symbol {} was made with another kind or range", name);
    return known;
  }
  return impl_->new_symbol(name, kind, range, Expr(), hint);
}

namespace {
ValueRange below(Expr extent) {
  int64_t upper = extent.range().upper;
  return {0, upper == kIntInf ? kIntInf : std::max<int64_t>(upper - 1, 0)};
}
}  // namespace

Expr ExprContext::axis(std::string_view name, Expr extent) {
  LITZ_CHECK(extent && &extent.context() == this, "axis {} needs an extent of its context", name);
  return impl_->new_symbol(impl_->unique_name(name), SymbolKind::kAxis, below(extent), extent, std::nullopt);
}

Expr ExprContext::indirect(std::string_view name, Expr extent) {
  LITZ_CHECK(extent && &extent.context() == this, "indirect index {} needs an extent of its context", name);
  return impl_->new_symbol(impl_->unique_name(name), SymbolKind::kIndirect, below(extent), extent, std::nullopt);
}

Expr ExprContext::find_symbol(std::string_view name) const {
  auto found = impl_->symbols.find(name);
  return found == impl_->symbols.end() ? Expr() : found->second;
}

}  // namespace litz
