#include <algorithm>

#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {

std::vector<TensorMeta> shape_cat(const RuleCall& call) {
  if (!call.arguments[0].is<ArgumentList>() || call.arguments[0].as<ArgumentList>().empty())
    user_error("{}: expected a list of tensors", call.op.name);
  std::vector<const TensorMeta*> parts;
  for (const Argument& a : call.arguments[0].as<ArgumentList>()) {
    const TensorMeta& m = a.as<Value>().meta();
    if (m.rank() == 1 && m.sizes[0].is_integer(0)) continue;  // an empty one-dimensional tensor joins with anything
    parts.push_back(&m);
  }
  if (parts.empty()) return {call.fresh(call.result_dtype(), call.first_tensor().sizes)};
  std::vector<Expr> sizes = parts[0]->sizes;
  const int64_t dim = wrap_dim(call.integer("dim"), sizes.size());
  for (size_t p = 1; p < parts.size(); ++p) {
    if (parts[p]->rank() != sizes.size()) user_error("{}: tensors with {} and {} dimensions", call.op.name, sizes.size(), parts[p]->rank());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Expr n = parts[p]->sizes[i];
      if (static_cast<int64_t>(i) == dim) sizes[i] = sizes[i] + n;
      else if (n.is_integer() && sizes[i].is_integer() && !(n == sizes[i]))
        user_error("{}: sizes {} and {} differ in dimension {}", call.op.name, to_string(sizes[i]), to_string(n), i);
      else if (n.is_integer()) sizes[i] = n;
    }
  }
  return {call.fresh(call.result_dtype(), std::move(sizes))};
}

std::vector<TensorMeta> shape_pad(const RuleCall& call) {
  std::vector<Expr> sizes = call.tensor(0).sizes;
  const std::vector<Expr> pad = call.exprs("pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > sizes.size())
    user_error("{}: {} paddings for {} dimensions", call.op.name, pad.size(), sizes.size());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Expr& n = sizes[sizes.size() - 1 - i];
    n = n + pad[2 * i] + pad[2 * i + 1];
  }
  return {call.fresh(call.result_dtype(), std::move(sizes))};
}

std::vector<TensorMeta> shape_gather(const RuleCall& call) {
  return {call.fresh(call.tensor(0).dtype, call.tensor(call.op.argument_index("index")).sizes)};
}

std::vector<TensorMeta> shape_index(const RuleCall& call) {
  const TensorMeta& self = call.tensor(0);
  if (!call.arguments[1].is<ArgumentList>()) user_error("{}: expected a list of indices", call.op.name);
  const ArgumentList& indices = call.arguments[1].as<ArgumentList>();
  if (indices.size() > self.rank()) user_error("{}: {} indices for {} dimensions", call.op.name, indices.size(), self.rank());
  std::vector<std::vector<Expr>> shapes;
  std::vector<bool> is_indexed(self.rank(), false);
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i].is<Value>()) {
      is_indexed[i] = true;
      shapes.push_back(indices[i].as<Value>().meta().sizes);
      const DType dtype = indices[i].as<Value>().meta().dtype;
      if (!is_integral(dtype)) user_error("{}: expected integer indices, found {}", call.op.name, dtype_name(dtype));
    }
  const std::vector<Expr> indexed = broadcast_shapes(call.context, shapes);
  const auto first = std::find(is_indexed.begin(), is_indexed.end(), true);
  const auto last = std::find(is_indexed.rbegin(), is_indexed.rend(), true).base();
  const bool adjacent = std::all_of(first, std::max(first, last), [](bool b) { return b; });
  std::vector<Expr> sizes;
  // Indices that stand apart put their dimensions in front.
  if (!adjacent) sizes = indexed;
  for (size_t i = 0; i < self.rank(); ++i) {
    if (!is_indexed[i]) sizes.push_back(self.sizes[i]);
    else if (adjacent && is_indexed.begin() + static_cast<int64_t>(i) == first) sizes.insert(sizes.end(), indexed.begin(), indexed.end());
  }
  return {call.fresh(self.dtype, std::move(sizes))};
}

std::vector<TensorMeta> shape_embedding(const RuleCall& call) {
  const TensorMeta& weight = call.tensor(0);
  std::vector<Expr> sizes = call.tensor(1).sizes;
  if (weight.rank() != 2) user_error("'weight' must be 2-D");
  sizes.push_back(weight.sizes[1]);
  return {call.fresh(weight.dtype, std::move(sizes))};
}

namespace {

TensorMeta created(const RuleCall& call, std::vector<Expr> sizes) {
  TensorMeta m;
  m.dtype = call.result_dtype();
  m.strides = contiguous_strides(call.context, sizes);
  m.sizes = std::move(sizes);
  if (call.argument("device").is<Device>()) m.device = call.argument("device").as<Device>();
  return m;
}

}  // namespace

std::vector<TensorMeta> shape_full(const RuleCall& call) {
  TensorMeta m = created(call, call.exprs("size"));
  if (call.argument("dtype").is<None>()) {
    const Argument& value = call.argument("fill_value");
    m.dtype = value.is<bool>() ? DType::kBool : value.is<double>() ? DType::kFloat32 : DType::kInt64;
    if (value.is<std::complex<double>>()) m.dtype = DType::kComplex64;
  }
  return {m};
}

std::vector<TensorMeta> shape_iota(const RuleCall& call) { return {created(call, {call.expr(call.argument("length"))})}; }

}  // namespace litz
