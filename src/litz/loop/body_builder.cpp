#include <algorithm>
#include <bit>
#include <cmath>

#include "litz/loop/body.h"
#include "litz/loop/program.h"
#include "litz/loop/scalar.h"

namespace litz {

namespace {

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ULL + (h >> 29); }

uint64_t hash_of(const Instr& i) {
  uint64_t h = mix(static_cast<uint64_t>(i.op), static_cast<uint64_t>(i.dtype));
  for (ValueId v : i.operands) h = mix(h, static_cast<uint64_t>(v));
  h = mix(h, static_cast<uint64_t>(i.number.integer));
  h = mix(h, std::bit_cast<uint64_t>(i.number.real));
  if (i.expr) h = mix(h, i.expr.id());
  h = mix(h, reinterpret_cast<uintptr_t>(i.buffer));
  for (Expr e : i.coordinates) h = mix(h, e.id());
  return h;
}

bool is_same(const Instr& a, const Instr& b) {
  return a.op == b.op && a.dtype == b.dtype && a.operands == b.operands && a.number == b.number && a.expr == b.expr &&
         a.buffer == b.buffer && a.coordinates == b.coordinates && a.message == b.message;
}

/// Ops whose result on constants is defined to the last bit on every target.
bool is_exact(Op op) {
  switch (op) {
    case Op::kCast:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
    case Op::kBitwiseNot:
    case Op::kWhere:
    case Op::kRelu:
    case Op::kShiftLeft:
    case Op::kShiftRight: return true;
    default: return op_result(op) == OpResult::kBool;
  }
}

bool has_effect(Op op) { return op == Op::kAssertTrue || op == Op::kCheckIndex; }

}  // namespace

ValueId BodyBuilder::record(Instr instr) {
  uint64_t h = hash_of(instr);
  auto [first, last] = table_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (is_same(body_.instrs[it->second], instr)) return it->second;
  body_.instrs.push_back(std::move(instr));
  auto id = static_cast<ValueId>(body_.instrs.size() - 1);
  table_.emplace(h, id);
  return id;
}

ValueId BodyBuilder::constant(DType dtype, Number number) {
  Instr i;
  i.op = Op::kConstant;
  i.dtype = dtype;
  i.number = scalar_of(dtype, number).number();
  return record(std::move(i));
}

ValueId BodyBuilder::constant(DType dtype, double value) { return constant(dtype, Number::of(value)); }

ValueId BodyBuilder::index_expr(Expr expr, DType dtype) {
  if (auto value = expr.as_integer()) return constant(dtype, Number::of(*value));
  Instr i;
  i.op = Op::kIndexExpr;
  i.dtype = dtype;
  i.expr = expr;
  return record(std::move(i));
}

ValueId BodyBuilder::load(Buffer* buffer, std::vector<Expr> coordinates, ValueId predicate) {
  LITZ_CHECK(coordinates.size() == buffer->sizes.size(), "load of {} with {} coordinates, it has {} dimensions", buffer->name,
             coordinates.size(), buffer->sizes.size());
  if (predicate != kNoValue && at(predicate).op == Op::kConstant) {
    if (at(predicate).number.integer == 0) return constant(buffer->dtype, Number::of(int64_t{0}));
    predicate = kNoValue;
  }
  Instr i;
  i.op = Op::kLoad;
  i.dtype = buffer->dtype;
  i.operands[0] = predicate;
  i.buffer = buffer;
  i.coordinates = std::move(coordinates);
  return record(std::move(i));
}

Expr BodyBuilder::indirect(ValueId value, Expr extent) {
  const Instr& source = at(value);
  LITZ_CHECK(!is_floating(source.result_dtype()), "an index is an integer, found {}", dtype_name(source.result_dtype()));
  if (source.op == Op::kIndexExpr) return source.expr;
  if (source.op == Op::kConstant) return context_.integer(source.number.integer);
  for (const Instr& i : body_.instrs)
    if (i.op == Op::kIndirect && i.operands[0] == value && i.expr.extent() == extent) return i.expr;
  Instr i;
  i.op = Op::kIndirect;
  i.dtype = source.result_dtype();
  i.operands[0] = value;
  i.expr = context_.indirect("t", extent);
  Expr symbol = i.expr;
  record(std::move(i));
  return symbol;
}

ValueId BodyBuilder::check_index(ValueId value, Expr extent, ValueId predicate, std::string message) {
  const Instr& source = at(value);
  DType dtype = source.result_dtype();
  if (source.op == Op::kIndexExpr || source.op == Op::kConstant) {
    Expr index = source.op == Op::kIndexExpr ? source.expr : context_.integer(source.number.integer);
    if (litz::le(context_.integer(0), index).is_integer(1) && litz::lt(index, extent).is_integer(1)) return value;
    if (litz::lt(index, context_.integer(0)).is_integer(1) && litz::le(-extent, index).is_integer(1))
      return index_expr(index + extent, dtype);
  }
  Instr i;
  i.op = Op::kCheckIndex;
  i.dtype = dtype;
  i.operands = {value, predicate, kNoValue};
  i.expr = extent;
  i.message = std::move(message);
  return record(std::move(i));
}

void BodyBuilder::assert_true(ValueId condition, std::string message) {
  if (at(condition).op == Op::kConstant && at(condition).number.integer != 0) return;
  Instr i;
  i.op = Op::kAssertTrue;
  i.dtype = DType::kBool;
  i.operands[0] = condition;
  i.message = std::move(message);
  record(std::move(i));
}

ValueId BodyBuilder::random_uint(ValueId seed, ValueId offset) {
  Instr i;
  i.op = Op::kRandomUint;
  i.dtype = DType::kUInt32;
  i.operands = {seed, offset, kNoValue};
  return record(std::move(i));
}

ValueId BodyBuilder::cast(ValueId value, DType dtype, bool kept) {
  DType from = dtype_of(value);
  if (from == dtype && !kept) return value;
  if (!kept && at(value).op == Op::kConstant) return constant(dtype, convert(scalar_of(from, at(value).number), dtype).number());
  if (!kept && at(value).op == Op::kIndexExpr && from == DType::kInt64 && (dtype == DType::kFloat64 || dtype == DType::kFloat32))
    return index_expr(at(value).expr, dtype);
  Instr i;
  i.op = kept ? Op::kCastKept : Op::kCast;
  i.dtype = dtype;
  i.operands[0] = value;
  return record(std::move(i));
}

ValueId BodyBuilder::bitcast(ValueId value, DType dtype) {
  LITZ_CHECK(dtype_bytes(dtype_of(value)) == dtype_bytes(dtype), "bitcast from {} to {}: sizes differ", dtype_name(dtype_of(value)),
             dtype_name(dtype));
  if (dtype_of(value) == dtype) return value;
  Instr i;
  i.op = Op::kBitcast;
  i.dtype = dtype;
  i.operands[0] = value;
  return record(std::move(i));
}

ValueId BodyBuilder::where(ValueId condition, ValueId if_true, ValueId if_false) { return op(Op::kWhere, {condition, if_true, if_false}); }

ValueId BodyBuilder::op(Op o, std::span<const ValueId> operands) {
  LITZ_CHECK(o > Op::kRandomUint && o != Op::kCast && o != Op::kCastKept && o != Op::kBitcast, "{} has a function of its own", op_text(o));
  LITZ_CHECK(static_cast<int>(operands.size()) == op_operands(o), "{} with {} operands, it takes {}", op_text(o), operands.size(),
             op_operands(o));
  size_t typed = o == Op::kWhere ? 1 : 0;
  DType dtype = dtype_of(operands[typed]);
  for (size_t k = typed; k < operands.size(); ++k)
    LITZ_CHECK(dtype_of(operands[k]) == dtype, "{}: operand {} is {}, operand {} is {}, expected one type", op_text(o), typed,
               dtype_name(dtype), k, dtype_name(dtype_of(operands[k])));
  if (o == Op::kWhere)
    LITZ_CHECK(dtype_of(operands[0]) == DType::kBool, "where: the condition is {}, expected bool", dtype_name(dtype_of(operands[0])));
  if (ValueId folded = fold(o, operands); folded != kNoValue) return folded;
  Instr i;
  i.op = o;
  i.dtype = dtype;
  std::copy(operands.begin(), operands.end(), i.operands.begin());
  return record(std::move(i));
}

// What may be folded: exact ops on constants, selects with a known condition, and neutral elements that are neutral for every
// value of the type, NaN and -0.0 included (x * 1, x / 1, x - 0; x + 0 only for integers).
ValueId BodyBuilder::fold(Op o, std::span<const ValueId> v) {
  auto is_constant = [&](ValueId x) { return at(x).op == Op::kConstant; };
  auto equals = [&](ValueId x, double number) {
    return is_constant(x) && at(x).number.as_double() == number && !(number == 0 && std::signbit(at(x).number.real));
  };
  if (o == Op::kWhere && is_constant(v[0])) return at(v[0]).number.integer ? v[1] : v[2];
  if (o == Op::kWhere && v[1] == v[2]) return v[1];
  DType dtype = dtype_of(v[0]);
  if (is_complex(dtype)) return kNoValue;
  if (is_exact(o) && std::all_of(v.begin(), v.end(), is_constant)) {
    std::vector<Scalar> in;
    for (ValueId x : v) in.push_back(scalar_of(dtype_of(x), at(x).number));
    DType computed = o == Op::kWhere ? dtype_of(v[1]) : dtype;
    Scalar result = evaluate(o, computed, in);
    return constant(result.dtype, result.number());
  }
  bool is_float = is_floating(dtype);
  switch (o) {
    case Op::kAdd:
      if (dtype == DType::kBool || is_float) break;
      if (equals(v[1], 0)) return v[0];
      if (equals(v[0], 0)) return v[1];
      break;
    case Op::kSub:
      if (dtype != DType::kBool && equals(v[1], 0)) return v[0];
      break;
    case Op::kMul:
      if (dtype == DType::kBool) break;
      if (equals(v[1], 1)) return v[0];
      if (equals(v[0], 1)) return v[1];
      break;
    case Op::kDiv:
      if (equals(v[1], 1)) return v[0];
      break;
    case Op::kLogicalAnd:
    case Op::kBitwiseAnd:
      if (dtype != DType::kBool) break;
      if (is_constant(v[0])) return at(v[0]).number.integer ? v[1] : v[0];
      if (is_constant(v[1])) return at(v[1]).number.integer ? v[0] : v[1];
      if (v[0] == v[1]) return v[0];
      break;
    case Op::kLogicalOr:
    case Op::kBitwiseOr:
      if (dtype != DType::kBool) break;
      if (is_constant(v[0])) return at(v[0]).number.integer ? v[0] : v[1];
      if (is_constant(v[1])) return at(v[1]).number.integer ? v[1] : v[0];
      if (v[0] == v[1]) return v[0];
      break;
    default: break;
  }
  return kNoValue;
}

Body BodyBuilder::take() {
  std::vector<char> used(body_.instrs.size(), 0);
  std::unordered_map<Expr, ValueId> definition;  // of indirect symbols
  for (size_t k = 0; k < body_.instrs.size(); ++k)
    if (body_.instrs[k].op == Op::kIndirect) definition.emplace(body_.instrs[k].expr, static_cast<ValueId>(k));
  auto use = [&](ValueId v) {
    if (v != kNoValue) used[v] = 1;
  };
  auto use_symbols = [&](Expr e) {
    if (!e || e.is_integer() || definition.empty()) return;
    for (Expr s : free_symbols(e))
      if (auto it = definition.find(s); it != definition.end()) use(it->second);
  };
  for (ValueId y : body_.yields) use(y);
  for (Expr e : kept_) use_symbols(e);
  for (size_t k = body_.instrs.size(); k-- > 0;) {
    const Instr& i = body_.instrs[k];
    if (has_effect(i.op)) used[k] = 1;
    if (!used[k]) continue;
    for (ValueId v : i.operands) use(v);
    for (Expr e : i.coordinates) use_symbols(e);
    if (i.op == Op::kIndexExpr || i.op == Op::kCheckIndex) use_symbols(i.expr);
  }
  Body result;
  std::vector<ValueId> renumbered(body_.instrs.size(), kNoValue);
  for (size_t k = 0; k < body_.instrs.size(); ++k) {
    if (!used[k]) continue;
    Instr& i = body_.instrs[k];
    for (ValueId& v : i.operands)
      if (v != kNoValue) v = renumbered[v];
    renumbered[k] = static_cast<ValueId>(result.instrs.size());
    result.instrs.push_back(std::move(i));
  }
  for (ValueId y : body_.yields) result.yields.push_back(renumbered[y]);
  body_ = {};
  table_.clear();
  kept_.clear();
  return result;
}

}  // namespace litz
