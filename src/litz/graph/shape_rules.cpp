#include "litz/graph/shape_rules.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "litz/graph/argument.h"
#include "litz/graph/type_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

struct Rules {
  ShapeRule shape;
  TypeRule type;
};

const Rules* find_rules(std::string_view op_name) {
  static const std::unordered_map<std::string, Rules> table = [] {
    std::unordered_map<std::string, Rules> t;
    auto add = [&](ShapeRule shape, TypeRule type, std::string_view schema) {
      t.emplace(canonical_op_name(schema.substr(0, schema.find('('))), Rules{shape, type});
    };
#define LITZ_PRIMITIVE(family, shape, dtype, schema, meaning) add(shape_##shape, TypeRule::k##dtype, schema);
#include "litz/graph/ops.def"
    return t;
  }();
  auto found = table.find(std::string(op_name));
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<TensorMeta> infer_results(ExprContext& context, const OpSchema& op, std::span<const Argument> arguments) {
  const Rules* rules = find_rules(op.name);
  LITZ_CHECK(rules, "{} is no primitive", op.name);
  const RuleCall call{context, op, arguments, rules->type};
  return rules->shape(call);
}

const Argument& RuleCall::argument(std::string_view name) const {
  const int i = op.argument_index(name);
  LITZ_CHECK(i >= 0, "{} has no argument '{}'", op.name, name);
  return arguments[i];
}

const TensorMeta& RuleCall::tensor(int index) const {
  if (!arguments[index].is<Value>())
    user_error("{}: expected a tensor for '{}', found {}", op.name, op.arguments[index].name, argument_text(arguments[index]));
  return arguments[index].as<Value>().meta();
}

const TensorMeta& RuleCall::first_tensor() const {
  const TensorMeta* first = nullptr;
  for (const Argument& a : arguments)
    for_each_value(a, [&](const Value& v) {
      if (!first) first = &v.meta();
    });
  if (!first) user_error("{}: expected a tensor among the arguments, found none", op.name);
  return *first;
}

int64_t RuleCall::integer(std::string_view name) const {
  const Argument& a = argument(name);
  if (!a.is<int64_t>()) user_error("{}: expected an integer for '{}', found {}", op.name, name, argument_text(a));
  return a.as<int64_t>();
}

Expr RuleCall::expr(const Argument& a) const {
  if (a.is<int64_t>()) return context.integer(a.as<int64_t>());
  if (!a.is<Expr>()) user_error("{}: expected an integer, found {}", op.name, argument_text(a));
  return a.as<Expr>();
}

std::vector<Expr> RuleCall::exprs(std::string_view name) const {
  const Argument& a = argument(name);
  std::vector<Expr> result;
  if (a.is<None>()) return result;
  if (!a.is<ArgumentList>()) user_error("{}: expected a list for '{}', found {}", op.name, name, argument_text(a));
  for (const Argument& element : a.as<ArgumentList>()) result.push_back(expr(element));
  return result;
}

std::vector<int64_t> RuleCall::integers(std::string_view name) const {
  std::vector<int64_t> result;
  for (Expr e : exprs(name)) {
    if (!e.is_integer()) user_error("{}: expected integers for '{}', found {}", op.name, name, to_string(e));
    result.push_back(e.integer());
  }
  return result;
}

DType RuleCall::result_dtype() const {
  auto given = [&]() -> std::optional<DType> {
    const int i = op.argument_index("dtype");
    if (i >= 0 && arguments[i].is<DType>()) return arguments[i].as<DType>();
    return std::nullopt;
  };
  switch (type_rule) {
    case TypeRule::kPromote: return result_type(operands());
    case TypeRule::kPromoteFloat: return float_result_type(result_type(operands()));
    case TypeRule::kBool: return DType::kBool;
    case TypeRule::kIndex: return DType::kInt64;
    case TypeRule::kFirst:
    case TypeRule::kFirstIndex: return first_tensor().dtype;
    case TypeRule::kRealOf: return real_type(first_tensor().dtype);
    case TypeRule::kSumType: {
      if (auto dtype = given()) return *dtype;
      const DType dtype = first_tensor().dtype;
      return is_integral(dtype) || dtype == DType::kBool ? DType::kInt64 : dtype;
    }
    case TypeRule::kArgument:
      if (auto dtype = given()) return *dtype;
      for (const Argument& a : arguments)
        if (a.is<Value>()) return a.as<Value>().meta().dtype;
      return DType::kFloat32;
    case TypeRule::kCustom:
      if (op.name == "aten.any.dims" || op.name == "aten.all.dims")
        return first_tensor().dtype == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
      if (op.name == "aten.where.self") return result_type(arguments.subspan(1));
      if (op.name == "aten.div.Tensor_mode") {
        const DType dtype = result_type(arguments.first(2));
        return argument("rounding_mode").is<None>() ? float_result_type(dtype) : dtype;
      }
      break;
  }
  LITZ_CHECK(false, "no type rule for {}", op.name);
}

std::span<const Argument> RuleCall::operands() const {
  // Keyword-only numbers (alpha) do not take part.
  size_t count = 0;
  while (count < arguments.size() && !op.arguments[count].is_kwarg_only &&
         (op.arguments[count].type == ArgType::kTensor || op.arguments[count].type == ArgType::kScalar))
    ++count;
  return arguments.first(count);
}

TensorMeta RuleCall::fresh(DType dtype, std::vector<Expr> sizes) const {
  TensorMeta m;
  m.dtype = dtype;
  m.strides = contiguous_strides(context, sizes);
  m.sizes = std::move(sizes);
  m.device = first_tensor().device;
  return m;
}

int64_t wrap_dim(int64_t dim, size_t rank) {
  const int64_t n = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (dim < -n || dim >= n) user_error("dimension out of range (expected to be in range of [{}, {}], but got {})", -n, n - 1, dim);
  return dim < 0 ? dim + n : dim;
}

Expr broadcast_size(Expr a, Expr b) {
  if (a == b || b.is_integer(1)) return a;
  if (a.is_integer(1)) return b;
  if (a.is_integer() && b.is_integer())
    user_error("sizes {} and {} do not broadcast: expected equal sizes or 1", to_string(a), to_string(b));
  const auto ra = a.range(), rb = b.range();
  if (ra.lower > rb.upper || rb.lower > ra.upper) {
    if (ra.lower > 1 && rb.lower > 1) user_error("sizes {} and {} do not broadcast: they are never equal", to_string(a), to_string(b));
  }
  auto cannot_be_one = [](Expr e) { return e.range().lower > 1 || e.range().upper < 1; };
  if (a.is_integer()) return a;
  if (b.is_integer()) return b;
  if (cannot_be_one(a)) return a;
  if (cannot_be_one(b)) return b;
  user_error("sizes {} and {} may broadcast in several ways: expected one that is known not to be 1", to_string(a), to_string(b));
}

std::vector<Expr> broadcast_shapes(ExprContext& context, std::span<const std::vector<Expr>> shapes) {
  size_t rank = 0;
  for (const auto& s : shapes) rank = std::max(rank, s.size());
  std::vector<Expr> result(rank, context.integer(1));
  for (const auto& s : shapes)
    for (size_t i = 0; i < s.size(); ++i) {
      Expr& r = result[rank - s.size() + i];
      r = broadcast_size(r, s[i]);
    }
  return result;
}

bool is_contiguous(const TensorMeta& meta) {
  if (meta.rank() == 0) return true;
  for (Expr s : meta.sizes)
    if (s.is_integer(0)) return true;
  ExprContext& context = meta.sizes[0].context();
  Expr running = context.integer(1);
  for (size_t i = meta.rank(); i-- > 0;) {
    if (meta.sizes[i].is_integer(1)) continue;
    if (!(meta.strides[i] == running)) return false;
    running = running * (meta.sizes[i].range().lower >= 1 ? meta.sizes[i] : max(meta.sizes[i], context.integer(1)));
  }
  return true;
}

std::optional<int64_t> value_at_capture(Expr e) {
  if (e.is_integer()) return e.integer();
  Substitution map;
  for (Expr s : free_symbols(e)) {
    auto hint = s.hint();
    if (!hint) return std::nullopt;
    map.emplace_back(s, e.context().integer(*hint));
  }
  return substitute(e, map).as_integer();
}

}  // namespace litz
