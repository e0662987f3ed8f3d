#include "litz/lower/advanced_index.h"

namespace litz {

namespace {

/// Joins shapes right-aligned; sizes of 1 give way.
void broadcast_into(std::vector<Expr>& sizes, std::span<const Expr> other, ExprContext& context) {
  while (sizes.size() < other.size()) sizes.insert(sizes.begin(), context.integer(1));
  size_t skipped = sizes.size() - other.size();
  for (size_t d = 0; d < other.size(); ++d)
    if (sizes[d + skipped].is_integer(1)) sizes[d + skipped] = other[d];
}

}  // namespace

Result<AdvancedIndex> advanced_index(Lowering& lowering, const Node& node, const View& self) {
  AdvancedIndex result;
  const ArgumentList& list = node.argument("indices").as<ArgumentList>();
  if (list.size() > self.rank()) return unsupported("{} indices for {} dimensions", list.size(), self.rank());
  std::optional<size_t> first, last;
  for (size_t d = 0; d < self.rank(); ++d) {
    result.indices.emplace_back();
    if (d >= list.size() || list[d].is<None>()) continue;
    View v = lowering.view(list[d].as<Value>());
    if (v.dtype == DType::kBool || v.dtype == DType::kUInt8) return unsupported("a mask as index: the result's size depends on the data");
    broadcast_into(result.broadcast_sizes, v.sizes, lowering.context());
    result.indices[d] = std::move(v);
    if (!first) first = d;
    last = d;
  }
  if (!first) return unsupported("no index");
  bool is_adjacent = true;
  for (size_t d = *first; d <= *last; ++d) is_adjacent &= result.indices[d].has_value();
  result.position = is_adjacent ? *first : 0;
  return result;
}

std::vector<Expr> result_sizes(const AdvancedIndex& advanced, const View& self) {
  std::vector<Expr> sizes;
  for (size_t d = 0; d < self.rank(); ++d)
    if (!advanced.indices[d]) sizes.push_back(self.sizes[d]);
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(advanced.position), advanced.broadcast_sizes.begin(), advanced.broadcast_sizes.end());
  return sizes;
}

std::vector<Expr> coordinates(Lowering& lowering, BodyBuilder& b, const AdvancedIndex& advanced, const View& self,
                              std::span<const Expr> index, bool is_checked) {
  std::span<const Expr> inner = index.subspan(advanced.position, advanced.broadcast_sizes.size());
  std::vector<Expr> plain(index.begin(), index.begin() + static_cast<ptrdiff_t>(advanced.position));
  plain.insert(plain.end(), index.begin() + static_cast<ptrdiff_t>(advanced.position + inner.size()), index.end());
  std::vector<Expr> result;
  size_t next = 0;
  for (size_t d = 0; d < self.rank(); ++d) {
    if (!advanced.indices[d]) {
      result.push_back(plain[next++]);
      continue;
    }
    ValueId v = b.cast(lowering.load_broadcast(b, *advanced.indices[d], inner), DType::kInt64);
    Expr size = self.sizes[d];
    if (is_checked) {
      v = b.check_index(v, size, kNoValue, fmt::format("index is out of bounds for dimension {} with size {}", d, to_string(size)));
    } else {
      ValueId is_negative = b.lt(v, b.constant(DType::kInt64, 0.0));
      v = b.where(is_negative, b.add(v, b.index_expr(size)), v);
    }
    result.push_back(b.indirect(v, size));
  }
  return result;
}

Expr checked_index(Lowering& lowering, BodyBuilder& b, ValueId value, Expr size, std::string message) {
  ValueId v = b.cast(value, DType::kInt64);
  const ValueId zero = b.constant(DType::kInt64, 0.0), limit = b.index_expr(size);
  // check_index lets negative indices wrap, these ops do not: move them out of range.
  v = b.where(b.lt(v, zero), limit, v);
  return b.indirect(b.check_index(v, size, kNoValue, std::move(message)), size);
}

}  // namespace litz
