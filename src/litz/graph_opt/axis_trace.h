#pragma once
// What the dimensions of a value stand for, followed through views in either direction. An axis is a named factor of sizes; every
// dimension is a list of axes, outermost first; dimensions of size 1 have none. A view that cuts an axis splits it in two.
//
//   axes n, m, k: %s : [n, m, k]    %v = aten.view(%s, [2, 4, 10, 10])    =>    %v : [n0, n1, m, k] with n = (n0, n1)
#include <optional>
#include <vector>

#include "litz/graph/builder.h"

namespace litz {

using AxisList = std::vector<int>;
using DimensionAxes = std::vector<AxisList>;  // one list a dimension

class AxisTable {
 public:
  explicit AxisTable(ExprContext& context) : context_(context) {}

  /// A new axis for a dimension; no axis for size 1.
  AxisList add(Expr size);
  /// Splits that came later are put in place.
  AxisList resolve(const AxisList& axes) const;
  DimensionAxes resolve(const DimensionAxes& dimensions) const;
  Expr size(int axis) const { return entries_[static_cast<size_t>(axis)].size; }
  Expr size(const AxisList& axes) const;

  /// Whether the node is a view that can be followed: its input's elements, all of them, in the order of the axes.
  static bool is_view(const Node& node);
  /// Axes of the view's input from those of its result, and the other way round; nullopt where sizes do not tell.
  std::optional<DimensionAxes> before(const Node& view, const DimensionAxes& result);
  std::optional<DimensionAxes> after(const Node& view, const DimensionAxes& input);

  /// The value with dimensions that are these lists; views where the strides allow it.
  Value arrange(GraphBuilder& builder, Value value, const DimensionAxes& from, const DimensionAxes& to) const;

 private:
  struct Entry {
    Expr size;
    int outer = -1, inner = -1;  // what it was split into
  };
  std::optional<DimensionAxes> regroup(AxisList axes, std::span<const Expr> sizes);

  ExprContext& context_;
  std::vector<Entry> entries_;
};

/// The axes of all dimensions as one list.
AxisList joined(const DimensionAxes& dimensions);

}  // namespace litz
