#include "litz/graph_opt/axis_trace.h"

#include <algorithm>

#include "litz/graph/shape_rules.h"

namespace litz {
namespace {

/// For every dimension of a permutation's result, the dimension of its input; empty for other views.
std::vector<size_t> permutation(const Node& n) {
  const size_t rank = n.outputs[0].rank();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  const std::string_view op = n.op_name();
  if (op == "aten.permute") {
    const auto& dims = n.argument("dims").as<ArgumentList>();
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<size_t>(wrap_dim(dims[i].as<int64_t>(), rank));
  } else if (op == "aten.transpose.int") {
    std::swap(order[static_cast<size_t>(wrap_dim(n.argument("dim0").as<int64_t>(), rank))],
              order[static_cast<size_t>(wrap_dim(n.argument("dim1").as<int64_t>(), rank))]);
  } else if (op == "aten.t") {
    std::reverse(order.begin(), order.end());
  } else {
    order.clear();
  }
  return order;
}

const TensorMeta& input_of(const Node& n) { return n.arguments[0].as<Value>().meta(); }

}  // namespace

AxisList joined(const DimensionAxes& dimensions) {
  AxisList all;
  for (const AxisList& d : dimensions) all.insert(all.end(), d.begin(), d.end());
  return all;
}

AxisList AxisTable::add(Expr size) {
  if (size.is_integer(1)) return {};
  entries_.push_back({size});
  return {static_cast<int>(entries_.size()) - 1};
}

AxisList AxisTable::resolve(const AxisList& axes) const {
  AxisList out;
  for (int a : axes) {
    const Entry& e = entries_[static_cast<size_t>(a)];
    if (e.outer < 0) out.push_back(a);
    else
      for (int part : resolve({e.outer, e.inner})) out.push_back(part);
  }
  return out;
}

DimensionAxes AxisTable::resolve(const DimensionAxes& dimensions) const {
  DimensionAxes out;
  for (const AxisList& d : dimensions) out.push_back(resolve(d));
  return out;
}

Expr AxisTable::size(const AxisList& axes) const {
  Expr product = context_.integer(1);
  for (int a : axes) product = product * size(a);
  return product;
}

bool AxisTable::is_view(const Node& n) {
  static constexpr std::string_view kViews[] = {"aten.view",         "aten._unsafe_view",
                                                "aten.reshape",      "aten.unsqueeze",
                                                "aten.squeeze",      "aten.squeeze.dim",
                                                "aten.squeeze.dims", "aten.flatten.using_ints",
                                                "aten.alias",        "aten.detach",
                                                "aten.clone",        "aten.expand",
                                                "aten.permute",      "aten.t",
                                                "aten.transpose.int"};
  if (n.kind != NodeKind::kCall || std::find(std::begin(kViews), std::end(kViews), n.op->name) == std::end(kViews)) return false;
  if (n.outputs.size() != 1 || !n.arguments[0].is<Value>()) return false;
  if (n.op->name != "aten.expand") return true;
  // An expansion that repeats elements is no view of the same axes.
  const auto &from = input_of(n).sizes, &to = n.outputs[0].sizes;
  const size_t more = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i)
    if (!(i < more ? to[i].is_integer(1) : to[i] == from[i - more])) return false;
  return true;
}

std::optional<DimensionAxes> AxisTable::regroup(AxisList axes, std::span<const Expr> sizes) {
  DimensionAxes out;
  axes = resolve(axes);
  size_t next = 0;
  for (Expr wanted : sizes) {
    out.emplace_back();
    Expr have = context_.integer(1);
    while (!(have == wanted)) {
      if (next == axes.size()) return std::nullopt;
      const int axis = axes[next];
      const auto whole = size(axis).as_integer(), target = wanted.as_integer(), so_far = have.as_integer();
      const int64_t left = whole && target && so_far && *so_far > 0 && *target % *so_far == 0 ? *target / *so_far : 0;
      if (left > 0 && *whole > left) {
        if (*whole % left || left == 1) return std::nullopt;
        const int outer = add(context_.integer(left))[0], inner = add(context_.integer(*whole / left))[0];
        entries_[static_cast<size_t>(axis)].outer = outer;
        entries_[static_cast<size_t>(axis)].inner = inner;
        axes[next] = inner;
        out.back().push_back(outer);
        have = have * size(outer);
        continue;
      }
      have = have * size(axis);
      out.back().push_back(axis);
      ++next;
    }
  }
  return next == axes.size() ? std::optional(resolve(out)) : std::nullopt;
}

std::optional<DimensionAxes> AxisTable::before(const Node& n, const DimensionAxes& result) {
  const auto order = permutation(n);
  DimensionAxes out = resolve(result);
  if (order.empty()) return regroup(joined(out), input_of(n).sizes);
  for (size_t i = 0; i < order.size(); ++i) out[order[i]] = result[i];
  return resolve(out);
}

std::optional<DimensionAxes> AxisTable::after(const Node& n, const DimensionAxes& input) {
  const auto order = permutation(n);
  DimensionAxes out = resolve(input);
  if (order.empty()) return regroup(joined(out), n.outputs[0].sizes);
  for (size_t i = 0; i < order.size(); ++i) out[i] = input[order[i]];
  return resolve(out);
}

Value AxisTable::arrange(GraphBuilder& b, Value value, const DimensionAxes& from, const DimensionAxes& to) const {
  const DimensionAxes wanted = resolve(to);
  const AxisList have = joined(resolve(from)), want = joined(wanted);
  std::vector<Expr> sizes, merged;
  for (const AxisList& d : wanted) merged.push_back(size(d));
  if (have != want) {
    for (int a : have) sizes.push_back(size(a));
    value = b.reshape(value, sizes);
    std::vector<int64_t> order;
    for (int a : want) order.push_back(std::find(have.begin(), have.end(), a) - have.begin());
    value = b.permute(value, order);
  }
  return b.reshape(value, merged);
}

}  // namespace litz
