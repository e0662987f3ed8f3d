// min and max: flat, without operands that another one makes superfluous.
#include <algorithm>

#include "litz/symbolic/expr_context.h"
#include "litz/symbolic/prove.h"

namespace litz {
namespace {

Expr extremum(Expr a, Expr b, ExprKind kind) {
  check_same_context(a, b);
  if (a == b) return a;
  ExprContext::Impl& impl = impl_of(a);
  ExprOp op = kind == ExprKind::kMin ? ExprOp::kMin : ExprOp::kMax;
  ExprContext::Impl::Memo& memo = impl.memo(op, a, b);
  if (impl.memo_hit(memo, op, a, b)) return Expr(memo.result);
  uint64_t cuts = impl.proof_cuts;

  InlineVector<Expr, 8> candidates, kept;
  for (Expr side : {a, b}) {
    if (side.kind() == kind) candidates.append(side.operands());
    else candidates.push_back(side);
  }
  auto superfluous = [&](Expr one, Expr other) {  // `one` beside `other`
    return kind == ExprKind::kMin ? prove_less_equal(other, one) : prove_less_equal(one, other);
  };
  for (Expr candidate : candidates) {
    bool drop = false;
    for (Expr other : kept) drop |= superfluous(candidate, other);
    if (drop) continue;
    for (size_t i = kept.size(); i-- > 0;)
      if (superfluous(kept[i], candidate)) kept.erase(i);
    kept.push_back(candidate);
  }
  std::sort(kept.begin(), kept.end(), [](Expr x, Expr y) { return compare_exprs(x, y) < 0; });
  Expr result = kept.size() == 1 ? kept[0] : impl.intern(kind, kept);
  if (result.range().is_single()) result = impl.integer(result.range().lower);
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, op, a, b, result);
  return result;
}

}  // namespace

Expr min(Expr a, Expr b) {
  // The largest integer stands for "no limit" where programs slice to the end.
  if (a.is_integer(kIntInf)) return b;
  if (b.is_integer(kIntInf)) return a;
  return extremum(a, b, ExprKind::kMin);
}
Expr max(Expr a, Expr b) { return extremum(a, b, ExprKind::kMax); }

}  // namespace litz
