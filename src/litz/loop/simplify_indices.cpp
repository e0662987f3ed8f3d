#include "litz/loop/simplify_indices.h"

#include "litz/loop/interpret.h"
#include "litz/loop/value_ranges.h"

namespace litz {

namespace {

struct Simplifier : UniformHandler<Simplifier, ValueId> {
  BodyBuilder& builder;
  const Body& body;
  std::vector<ValueBounds> ranges;
  Substitution map;

  Simplifier(BodyBuilder& builder, const Body& body) : builder(builder), body(body), ranges(value_ranges(body)) {}

  const ValueBounds& range_of(const Instr& i) { return ranges[&i - body.instrs.data()]; }
  std::optional<bool> decided(ValueId v) {
    if (ranges[v].is_single()) return ranges[v].lower != 0;
    return std::nullopt;
  }
  ValueId predicate(const Instr& i, int operand, const ValueId* p) {
    if (!p) return kNoValue;
    if (auto known = decided(i.operands[operand])) return *known ? kNoValue : builder.constant(DType::kBool, Number::of(int64_t{0}));
    return *p;
  }

  ValueId constant(const Instr& i) { return builder.constant(i.dtype, i.number); }
  ValueId index_expr(const Instr& i) { return builder.index_expr(substitute(i.expr, map), i.dtype); }
  ValueId load(const Instr& i, const ValueId* p) {
    return builder.load(i.buffer, substitute(std::span<const Expr>(i.coordinates), map), predicate(i, 0, p));
  }
  ValueId indirect(const Instr& i, ValueId v) {
    map.emplace_back(i.expr, builder.indirect(v, substitute(i.expr.extent(), map)));
    return v;
  }
  ValueId check_index(const Instr& i, ValueId v, const ValueId* p) {
    const ValueBounds& r = ranges[i.operands[0]];
    ValueRange extent = i.expr.range();
    if (r.lower >= 0 && r.upper < static_cast<double>(extent.lower)) return v;
    if (p && decided(i.operands[1]) == false) return v;
    return builder.check_index(v, substitute(i.expr, map), predicate(i, 1, p), i.message);
  }
  ValueId assert_true(const Instr& i, ValueId v) {
    if (decided(i.operands[0]) != true) builder.assert_true(v, i.message);
    return v;
  }
  ValueId random_uint(const Instr&, ValueId seed, ValueId offset) { return builder.random_uint(seed, offset); }
  ValueId apply(const Instr& i, std::initializer_list<ValueId> operands) {
    const ValueId* v = operands.begin();
    const ValueBounds& r = range_of(i);
    if (i.result_dtype() == DType::kBool && r.is_single()) return builder.constant(DType::kBool, Number::of(int64_t{r.lower != 0}));
    if (i.op == Op::kWhere)
      if (auto known = decided(i.operands[0])) return *known ? v[1] : v[2];
    switch (i.op) {
      case Op::kCast: return builder.cast(v[0], i.dtype);
      case Op::kCastKept: return builder.cast(v[0], i.dtype, true);
      case Op::kBitcast: return builder.bitcast(v[0], i.dtype);
      default: return builder.op(i.op, operands);
    }
  }
};

}  // namespace

bool simplify_indices(ExprContext& context, Operation& operation) {
  if (operation.kind == OperationKind::kExtern) return false;
  BodyBuilder builder(context);
  Simplifier handler(builder, operation.body);
  std::vector<ValueId> values = interpret(operation.body, handler);
  for (ValueId y : operation.body.yields) builder.yield(values[y]);
  std::vector<Expr> scatter = substitute(std::span<const Expr>(operation.scatter_coordinates), handler.map);
  for (Expr e : scatter) builder.keep(e);
  Body simplified = builder.take();
  bool changed = simplified.instrs.size() != operation.body.instrs.size();
  for (size_t k = 0; !changed && k < simplified.instrs.size(); ++k)
    changed = simplified.instrs[k].op != operation.body.instrs[k].op || simplified.instrs[k].operands != operation.body.instrs[k].operands;
  if (!changed) return false;  // only names of indirect symbols would differ
  operation.body = std::move(simplified);
  operation.scatter_coordinates = std::move(scatter);
  return true;
}

bool simplify_indices(LoopProgram& program) {
  bool changed = false;
  for (Operation* op : program.operations) changed |= simplify_indices(*program.context, *op);
  return changed;
}

}  // namespace litz
