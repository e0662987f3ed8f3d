#pragma once
// Views given by strides on eager's storage, as maps of coordinates.
#include "litz/lower/lowering.h"

namespace litz {

/// as_strided on the storage behind `base`. Unsupported where eager's storage of the buffer is not dense in some order of its
/// dimensions, because then places between elements are not coordinates.
Result<View> strided_view(Lowering& lowering, const View& base, std::span<const Expr> sizes, std::span<const Expr> strides, Expr offset);

/// Where a slice starts, with negative numbers wrapped and clamped as Python does; null is the start.
Expr slice_start(ExprContext& context, Expr start, Expr size);
/// An index of a dimension, negative ones wrapped.
Expr wrap_index(ExprContext& context, Expr index, Expr size);

/// Results of these views over self, as the ops name them; shared with their scatters.
View slice_view(Lowering& lowering, const View& self, int dim, Expr start, Expr step, Expr length);
View select_view(Lowering& lowering, const View& self, int dim, Expr index);
View diagonal_view(Lowering& lowering, const View& self, int64_t offset, int dim1, int dim2, Expr length);

}  // namespace litz
