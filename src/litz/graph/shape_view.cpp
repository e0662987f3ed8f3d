#include <algorithm>

#include "litz/graph/argument.h"
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// A view of the tensor at argument 0 with other sizes and strides.
TensorMeta view_of(const RuleCall& call, std::vector<Expr> sizes, std::vector<Expr> strides) {
  TensorMeta m = call.tensor(0);
  m.sizes = std::move(sizes);
  m.strides = std::move(strides);
  return m;
}

Expr offset_of(const RuleCall& call, const TensorMeta& m) { return m.storage_offset ? m.storage_offset : call.context.integer(0); }

int64_t dim_of(const RuleCall& call, std::string_view name, size_t rank) { return wrap_dim(call.integer(name), rank); }

/// A Python index into a size, clamped to [0, size].
Expr clamp_index(Expr index, Expr size) {
  ExprContext& context = size.context();
  if (index.is_integer() && index.integer() >= kIntInf) return size;
  // A symbolic index that may be negative keeps eager's choice as a select.
  if (index.range().upper < 0) index = index + size;
  else if (index.range().lower < 0) index = select(lt(index, context.integer(0)), index + size, index);
  return max(context.integer(0), min(index, size));
}

}  // namespace

std::vector<Expr> resolve_sizes(ExprContext& context, std::span<const Expr> from, std::vector<Expr> sizes) {
  int unknown = -1;
  Expr known = context.integer(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_integer(-1)) {
      if (unknown >= 0) user_error("only one dimension can be inferred");
      unknown = static_cast<int>(i);
    } else {
      known = known * sizes[i];
    }
  }
  if (unknown >= 0) sizes[unknown] = floor_div(product(context, from), known);
  return sizes;
}

std::optional<std::vector<Expr>> view_strides(ExprContext& context, const TensorMeta& meta, std::span<const Expr> sizes) {
  const Expr old_count = product(context, meta.sizes);
  if (is_contiguous(meta) || old_count.is_integer(0)) return contiguous_strides(context, sizes);
  std::vector<Expr> strides(sizes.size());
  int64_t view_dim = static_cast<int64_t>(sizes.size()) - 1;
  const Expr one = context.integer(1);
  Expr chunk_base = meta.strides.back(), tensor_count = one, view_count = one;
  for (int64_t d = static_cast<int64_t>(meta.rank()) - 1; d >= 0; --d) {
    tensor_count = tensor_count * meta.sizes[d];
    const bool chunk_ends = d == 0 || (!meta.sizes[d - 1].is_integer(1) && !(meta.strides[d - 1] == tensor_count * chunk_base));
    if (!chunk_ends) continue;
    while (view_dim >= 0 && (!(view_count == tensor_count) || sizes[view_dim].is_integer(1))) {
      if (!lt(view_count, tensor_count).is_integer(1) && !sizes[view_dim].is_integer(1)) return std::nullopt;
      strides[view_dim] = view_count * chunk_base;
      view_count = view_count * sizes[view_dim];
      --view_dim;
    }
    if (!(view_count == tensor_count)) return std::nullopt;
    if (d > 0) {
      chunk_base = meta.strides[d - 1];
      tensor_count = view_count = one;
    }
  }
  if (view_dim != -1) return std::nullopt;
  return strides;
}

std::vector<TensorMeta> shape_view(const RuleCall& call) {
  const TensorMeta& input = call.tensor(0);
  std::vector<Expr> sizes = resolve_sizes(call.context, input.sizes, call.exprs(call.op.arguments[1].name));
  const Expr from = product(call.context, input.sizes), to = product(call.context, sizes);
  if (from.is_integer() && to.is_integer() && !(from == to))
    user_error("{}: {} elements do not make {}", call.op.name, to_string(from), to_string(to));
  auto strides = view_strides(call.context, input, sizes);
  if (!strides && call.op.name == "aten.view")
    user_error("{}: sizes and strides of {} allow no view of the new sizes, use reshape", call.op.name, to_text(input));
  std::vector<Expr> result_strides = strides ? *strides : contiguous_strides(call.context, sizes);
  TensorMeta m = view_of(call, std::move(sizes), std::move(result_strides));
  if (!strides) m.storage_offset = Expr();
  return {m};
}

std::vector<TensorMeta> shape_reshape(const RuleCall& call) { return shape_view(call); }

std::vector<TensorMeta> shape_permute(const RuleCall& call) {
  const TensorMeta& input = call.tensor(0);
  const std::vector<int64_t> dims = call.integers("dims");
  if (dims.size() != input.rank()) user_error("{}: {} dims for a tensor with {}", call.op.name, dims.size(), input.rank());
  std::vector<Expr> sizes, strides;
  std::vector<bool> seen(input.rank(), false);
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, input.rank());
    if (seen[at]) user_error("{}: dimension {} stands twice", call.op.name, at);
    seen[at] = true;
    sizes.push_back(input.sizes[at]);
    strides.push_back(input.strides[at]);
  }
  return {view_of(call, std::move(sizes), std::move(strides))};
}

std::vector<TensorMeta> shape_expand(const RuleCall& call) {
  const TensorMeta& input = call.tensor(0);
  std::vector<Expr> sizes = call.exprs("size");
  if (sizes.size() < input.rank()) user_error("{}: {} sizes for a tensor with {}", call.op.name, sizes.size(), input.rank());
  std::vector<Expr> strides(sizes.size(), call.context.integer(0));
  const size_t shift = sizes.size() - input.rank();
  // New dimensions in front have the stride that eager gives them: 0 where they repeat.
  for (size_t i = sizes.size(); i-- > 0;) {
    const bool is_new = i < shift;
    if (is_new) {
      if (sizes[i].is_integer(1)) strides[i] = i + 1 < sizes.size() ? sizes[i + 1] * strides[i + 1] : call.context.integer(1);
      continue;
    }
    const Expr size = input.sizes[i - shift], stride = input.strides[i - shift];
    if (sizes[i].is_integer(-1)) sizes[i] = size;
    if (size == sizes[i]) {
      strides[i] = stride;
    } else if (!size.is_integer(1)) {
      if (size.range().lower > 1 && sizes[i].is_integer())
        user_error("{}: size {} cannot expand to {}", call.op.name, to_string(size), to_string(sizes[i]));
      // Sizes that must be equal, though not proven: eager would have failed otherwise.
      strides[i] = stride;
    }
  }
  return {view_of(call, std::move(sizes), std::move(strides))};
}

std::vector<TensorMeta> shape_slice(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  const int64_t dim = dim_of(call, "dim", m.rank());
  if (m.rank() == 0) user_error("slice() cannot be applied to a 0-dim tensor");
  const Expr size = m.sizes[dim], zero = call.context.integer(0);
  const Argument &start = call.argument("start"), &end = call.argument("end");
  const Expr step = call.expr(call.argument("step"));
  if (step.range().lower < 1) user_error("slice step must be positive");
  const Expr from = start.is<None>() ? zero : clamp_index(call.expr(start), size);
  const Expr to = end.is<None>() ? size : max(from, clamp_index(call.expr(end), size));
  m.storage_offset = offset_of(call, m) + from * m.strides[dim];
  m.sizes[dim] = ceil_div(to - from, step);
  m.strides[dim] = m.strides[dim] * step;
  return {m};
}

std::vector<TensorMeta> shape_select(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  if (m.rank() == 0) user_error("select() cannot be applied to a 0-dim tensor");
  const int64_t dim = dim_of(call, "dim", m.rank());
  Expr index = call.expr(call.argument("index"));
  const Expr size = m.sizes[dim], zero = call.context.integer(0);
  if (index.is_integer() && size.is_integer() && (index.integer() >= size.integer() || index.integer() < -size.integer()))
    user_error("select(): index {} out of range for dimension {} of size {}", index.integer(), dim, size.integer());
  if (index.range().upper < 0) index = index + size;
  else if (index.range().lower < 0) index = select(lt(index, zero), index + size, index);
  m.storage_offset = offset_of(call, m) + index * m.strides[dim];
  m.sizes.erase(m.sizes.begin() + dim);
  m.strides.erase(m.strides.begin() + dim);
  return {m};
}

std::vector<TensorMeta> shape_unsqueeze(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  const int64_t dim = wrap_dim(call.integer("dim"), m.rank() + 1);
  const bool last = dim == static_cast<int64_t>(m.rank());
  const Expr stride = last ? call.context.integer(1) : m.sizes[dim] * m.strides[dim];
  m.sizes.insert(m.sizes.begin() + dim, call.context.integer(1));
  m.strides.insert(m.strides.begin() + dim, stride);
  return {m};
}

std::vector<TensorMeta> shape_squeeze(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  std::vector<bool> drop(std::max<size_t>(m.rank(), 1), false);
  for (int64_t d : call.integers("dim")) drop[wrap_dim(d, m.rank())] = true;
  std::vector<Expr> sizes, strides;
  for (size_t i = 0; i < m.rank(); ++i) {
    if (drop[i] && m.sizes[i].is_integer(1)) continue;
    sizes.push_back(m.sizes[i]);
    strides.push_back(m.strides[i]);
  }
  return {view_of(call, std::move(sizes), std::move(strides))};
}

std::vector<TensorMeta> shape_same_view(const RuleCall& call) { return {call.tensor(0)}; }

std::vector<TensorMeta> shape_as_strided(const RuleCall& call) {
  TensorMeta m = view_of(call, call.exprs("size"), call.exprs("stride"));
  if (m.sizes.size() != m.strides.size()) user_error("{}: {} sizes and {} strides", call.op.name, m.sizes.size(), m.strides.size());
  if (!call.argument("storage_offset").is<None>()) m.storage_offset = call.expr(call.argument("storage_offset"));
  return {m};
}

std::vector<TensorMeta> shape_unfold(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  const int64_t dim = dim_of(call, "dimension", m.rank());
  const Expr size = call.expr(call.argument("size")), step = call.expr(call.argument("step"));
  const Expr one = call.context.integer(1);
  const bool has_dimensions = m.rank() > 0;
  m.sizes.push_back(size);
  m.strides.push_back(has_dimensions ? m.strides[dim] : one);
  if (has_dimensions) {
    m.sizes[dim] = floor_div(m.sizes[dim] - size, step) + one;
    m.strides[dim] = m.strides[dim] * step;
  }
  return {m};
}

std::vector<TensorMeta> shape_diagonal(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  const int64_t a = dim_of(call, "dim1", m.rank()), b = dim_of(call, "dim2", m.rank()), offset = call.integer("offset");
  if (a == b) user_error("diagonal dimensions cannot be identical {}, {}", a, b);
  const Expr zero = call.context.integer(0);
  Expr length = offset >= 0 ? min(m.sizes[a], m.sizes[b] - offset) : min(m.sizes[a] + offset, m.sizes[b]);
  length = max(length, zero);
  if (!length.is_integer(0)) {
    const Expr shift = offset >= 0 ? m.strides[b] * offset : m.strides[a] * -offset;
    m.storage_offset = offset_of(call, m) + shift;
  }
  const Expr stride = m.strides[a] + m.strides[b];
  std::vector<Expr> sizes, strides;
  for (int64_t i = 0; i < static_cast<int64_t>(m.rank()); ++i) {
    if (i == a || i == b) continue;
    sizes.push_back(m.sizes[i]);
    strides.push_back(m.strides[i]);
  }
  sizes.push_back(length);
  strides.push_back(stride);
  m.sizes = std::move(sizes);
  m.strides = std::move(strides);
  return {m};
}

std::vector<TensorMeta> shape_view_dtype(const RuleCall& call) {
  TensorMeta m = call.tensor(0);
  const DType dtype = call.result_dtype();
  const int64_t from = dtype_bytes(m.dtype), to = dtype_bytes(dtype);
  m.dtype = dtype;
  if (from == to) return {m};
  if (m.rank() == 0) user_error("{}: a tensor without dimensions keeps its element size", call.op.name);
  // The last dimension is dense; offsets and the other strides are counted in new elements.
  auto rescale = [&](Expr e) { return from > to ? e * (from / to) : floor_div(e, call.context.integer(to / from)); };
  m.sizes.back() = rescale(m.sizes.back());
  for (size_t i = 0; i + 1 < m.rank(); ++i) m.strides[i] = rescale(m.strides[i]);
  if (m.storage_offset) m.storage_offset = rescale(m.storage_offset);
  return {m};
}

}  // namespace litz
