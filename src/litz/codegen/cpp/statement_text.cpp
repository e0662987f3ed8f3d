// One statement of kernel IR as C++. Values that vary over the lanes of the open loop are vectors, others scalars; an op with a
// vector among its operands takes the scalars splat.
#include <algorithm>
#include <cctype>

#include "litz/codegen/cpp/cpp_names.h"
#include "litz/codegen/cpp/kernel_writer.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"

namespace litz {

namespace {

bool is_narrow(DType dtype) { return opmath_type(dtype) != dtype; }

/// Integers as wide as the element: copies of elements that need no conversion go through them.
const char* raw_type(DType dtype) { return dtype_bytes(dtype) == 1 ? "u8" : "u16"; }
bool has_conversion(DType dtype) { return is_narrow(dtype) || dtype == DType::kBool; }

}  // namespace

void KernelWriter::find_uses() {
  nonzero_ = nonzero_constants(kernel_);
  only_stored_.assign(kernel_.values.size(), true);
  is_copied_.assign(kernel_.values.size(), false);
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    if (s.kind == KernelOp::kLoad && s.operands.empty() && has_conversion(s.instr.dtype)) is_copied_[s.result] = true;
  });
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    const bool stores = s.kind == KernelOp::kStore && s.mode == ScatterMode::kStore;
    for (KernelValue v : s.operands) {
      if (v == kNoKernelValue || stores) continue;
      only_stored_[v] = false;
      is_copied_[v] = false;
    }
  });
  accumulator_width_.assign(kernel_.accumulators.size(), 1);
  int lanes = 1;
  std::function<void(const std::vector<KernelStatement>&)> walk = [&](const std::vector<KernelStatement>& body) {
    for (const KernelStatement& s : body) {
      if (s.kind == KernelOp::kLoop) {
        const int before = lanes;
        if (s.loop->has_lanes) lanes = static_cast<int>(s.loop->step.integer());
        walk(s.loop->body);
        lanes = before;
      }
      if (s.kind != KernelOp::kFinish) continue;
      const Accumulator& a = kernel_.accumulators[s.accumulator];
      if (!a.lanes.empty()) accumulator_width_[s.accumulator] = static_cast<int>(a.lanes.front()->step.integer());
      else if (varies(s.result)) accumulator_width_[s.accumulator] = lanes;
    }
  };
  walk(kernel_.body);
}

void KernelWriter::define(KernelValue v, const std::string& expression) {
  value_text_[v] = fmt::format("v{}", next_value_++);
  line("const auto {} = {};", value_text_[v], expression);
}

std::string KernelWriter::operand(KernelValue v, bool vector, DType dtype) const {
  if (!vector || varies(v)) return value_text_[v];
  return fmt::format("splat<{}>(l, {})", cpp_element_type(dtype), value_text_[v]);
}
std::string KernelWriter::operand(KernelValue v, bool vector) const { return operand(v, vector, kernel_.values[v].dtype); }

std::string KernelWriter::pointer(Memory memory) const {
  if (memory.is_scratch) return fmt::format("scratch{}", memory.index);
  int in = 0, out = 0;
  for (int k = 0; k < memory.index; ++k) {
    if (kernel_.parameters[k].kind == KernelParameter::kInput) ++in;
    else ++out;
  }
  return kernel_.parameters[memory.index].kind == KernelParameter::kInput ? fmt::format("in{}", in) : fmt::format("out{}", out);
}

std::string KernelWriter::offset_vector(Expr offset) const {
  if (!index_.varies(offset)) return fmt::format("splat<i64>(l, {})", index_.scalar(offset));
  bool narrow = false;
  return index_.vector(offset, narrow);
}

void KernelWriter::write_statement(const KernelStatement& s) {
  switch (s.kind) {
#define LITZ_KERNEL_OP(name, Enumerator, meaning) \
  case KernelOp::k##Enumerator: return write_##name(s);
#include "litz/kernel/ops.def"
#undef LITZ_KERNEL_OP
  }
}

// ---- memory ----

void KernelWriter::write_load(const KernelStatement& s) {
  const bool vector = varies(s.result);
  const KernelValue predicate = s.operands.empty() ? kNoKernelValue : s.operands[0];
  const bool masked = predicate != kNoKernelValue && varies(predicate);
  const std::string base = pointer(s.memory);
  std::string from = fmt::format("{} + {}", base, index_.scalar(s.offset));
  const char* element = cpp_element_type(s.instr.dtype);
  if (is_copied_[s.result]) {
    element = raw_type(s.instr.dtype);
    from = fmt::format("(const {}*){} + {}", element, base, index_.scalar(s.offset));
  }
  const std::string other = cpp_literal(s.instr.number, s.instr.dtype);
  if (!vector) {
    const std::string value = fmt::format("load(one, {})", from);
    define(s.result, predicate == kNoKernelValue ? value : fmt::format("{} ? {} : {}", value_text_[predicate], value, other));
    return;
  }
  Expr stride = index_.lane_stride(s.offset);
  std::string value;
  if (masked) {
    const std::string mask = value_text_[predicate];
    if (stride && stride.is_integer(1)) value = fmt::format("load_masked(l, {}, {}, {})", from, mask, other);
    else if (stride && !stride.is_integer(0))
      value = fmt::format("load_strided_masked(l, {}, {}, {}, {})", from, index_.scalar(stride), mask, other);
    else value = fmt::format("gather_masked(l, {}, {}, {}, {})", base, offset_vector(s.offset), mask, other);
  } else {
    if (stride && stride.is_integer(1)) value = fmt::format("load(l, {})", from);
    else if (stride && stride.is_integer(0)) value = fmt::format("splat<{}>(l, load(one, {}))", element, from);
    else if (stride) value = fmt::format("load_strided(l, {}, {})", from, index_.scalar(stride));
    else
      value = fmt::format("gather(l, {}{}, {})", is_copied_[s.result] ? fmt::format("(const {}*)", element) : "", base,
                          offset_vector(s.offset));
    if (predicate != kNoKernelValue) value = fmt::format("{} ? {} : splat<{}>(l, {})", value_text_[predicate], value, element, other);
  }
  define(s.result, value);
}

void KernelWriter::write_store(const KernelStatement& s) {
  const DType dtype = s.memory.is_scratch ? kernel_.scratch[s.memory.index].dtype : kernel_.parameters[s.memory.index].dtype;
  const bool vector = lanes_ > 1;
  const KernelValue stored = s.operands[0];
  LITZ_CHECK(s.operands.size() == 1, "{}: a scatter with a predicate is for blocks", kernel_.name);
  const std::string base = pointer(s.memory);
  const char* element = cpp_element_type(dtype);
  std::string to = fmt::format("{} + {}", base, index_.scalar(s.offset)), cast;
  std::string value = operand(stored, vector, dtype);
  if (is_copied_[stored]) {
    element = raw_type(dtype);
    cast = fmt::format("({}*)", element);
    to = cast + to;
    if (vector && !varies(stored)) value = fmt::format("splat<{}>(l, {})", element, value_text_[stored]);
  }
  if (s.mode != ScatterMode::kStore) {
    write_combining_store(s, to, vector ? index_.lane_stride(s.offset) : Expr(), value);
    return;
  }
  if (!vector) {
    line("store(one, {}, {});", to, value);
    return;
  }
  Expr stride = index_.lane_stride(s.offset);
  if (stride && stride.is_integer(1)) line("store(l, {}, {});", to, value);
  else if (stride && !stride.is_integer(0)) line("store_strided(l, {}, {}, {});", to, index_.scalar(stride), value);
  else line("scatter(l, {}{}, {}, {});", cast, base, offset_vector(s.offset), value);
}

void KernelWriter::write_combining_store(const KernelStatement& s, const std::string& to, Expr stride, const std::string& value) {
  static constexpr const char* kCombine[] = {"", "CombineAdd", "CombineMul", "CombineMin", "CombineMax"};
  const char* combine = kCombine[static_cast<int>(s.mode)];
  if (lanes_ == 1) line("combine<{}>(one, {}, {});", combine, to, value);
  else if (stride && stride.is_integer(1)) line("combine<{}>(l, {}, {});", combine, to, value);
  else line("combine_at<{}>(l, {}, {}, {});", combine, pointer(s.memory), offset_vector(s.offset), value);
}

// ---- values ----

void KernelWriter::write_cast(const KernelStatement& s) {
  const KernelValue from = s.operands[0];
  const DType source = kernel_.values[from].dtype, target = s.instr.dtype;
  const bool widens = is_narrow(source) && opmath_type(source) == target;
  const bool rounded_by_store = is_narrow(target) && only_stored_[s.result] && source == opmath_type(target);
  if (widens || rounded_by_store) value_text_[s.result] = value_text_[from];
  else define(s.result, fmt::format("cast<{}>({})", cpp_element_type(target), value_text_[from]));
}

void KernelWriter::write_index_expr(const KernelStatement& s) {
  const char* type = cpp_element_type(s.instr.dtype);
  if (!varies(s.result)) {
    define(s.result, fmt::format("cast<{}>((i64)({}))", type, index_.scalar(s.instr.expr)));
    return;
  }
  bool narrow = false;
  std::string vector = index_.vector(s.instr.expr, narrow);
  define(s.result, fmt::format("cast<{}>({})", type, vector));
}

void KernelWriter::write_compute(const KernelStatement& s) {
  switch (s.instr.op) {
    case Op::kConstant: value_text_[s.result] = cpp_literal(s.instr.number, s.instr.dtype); return;
    case Op::kCast:
    case Op::kCastKept: write_cast(s); return;
    case Op::kIndexExpr: write_index_expr(s); return;
    case Op::kIndirect: {
      const KernelValue v = s.operands[0];
      value_text_[s.result] = value_text_[v];
      if (varies(v)) index_.bind_vector(s.instr.expr, value_text_[v]);
      else index_.bind(s.instr.expr, value_text_[v]);
      return;
    }
    case Op::kAssertTrue:
      line("check_true({}, {}, {}, error);", tag(varies(s.operands[0])), value_text_[s.operands[0]], next_assertion_++);
      return;
    default: define(s.result, compute_text(s));
  }
}

std::string KernelWriter::compute_text(const KernelStatement& s) {
  const bool vector = varies(s.result);
  auto at = [&](int k) { return operand(s.operands[k], vector); };
  switch (s.instr.op) {
    case Op::kCheckIndex: {
      const bool always = s.operands.size() < 2 || s.operands[1] == kNoKernelValue;
      const std::string wanted = always ? (vector ? "splat<bool>(l, true)" : "true") : at(1);
      return fmt::format("check_index({}, {}, {}, {}, error)", tag(vector), at(0), index_.scalar(s.instr.expr), wanted);
    }
    case Op::kBitcast:
      return fmt::format("bitcast<{}, {}>({})", cpp_element_type(s.instr.dtype), cpp_element_type(kernel_.values[s.operands[0]].dtype),
                         at(0));
    case Op::kRandomUint: return fmt::format("random_uint({}, {})", at(0), at(1));
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalXor:
    case Op::kLogicalNot: {
      auto truth = [&](int k) { return s.instr.dtype == DType::kBool ? at(k) : fmt::format("cast<bool>({})", at(k)); };
      std::string text = fmt::format("{}({}", op_text(s.instr.op), truth(0));
      return text + (s.operands.size() > 1 ? fmt::format(", {})", truth(1)) : ")");
    }
    case Op::kWhere: return fmt::format("where({}, {}, {})", value_text_[s.operands[0]], at(1), at(2));
    case Op::kTruncDiv:
    case Op::kFloorDiv:
    case Op::kFmod:
    case Op::kRemainder:
      if (can_fail(s, nonzero_)) return fmt::format("{}({}, nonzero({}, {}, error))", op_text(s.instr.op), at(0), tag(vector), at(1));
      break;
    default: break;
  }
  // Every other op of ops.def is a function of the vector header under its own name.
  std::string text = fmt::format("{}(", op_text(s.instr.op));
  for (size_t k = 0; k < s.operands.size(); ++k) text += (k ? ", " : "") + at(static_cast<int>(k));
  return text + ")";
}

// ---- accumulators ----

std::string KernelWriter::accumulator_type(int accumulator) const {
  const Accumulator& a = kernel_.accumulators[accumulator];
  const int width = accumulator_width_[accumulator];
  const char* type = cpp_value_type(a.dtype);
  auto plain = [&](const char* name) { return fmt::format("{}<{}, {}>", name, type, width); };
  auto extreme = [&](bool is_max) {
    return fmt::format("Extreme<{}, {}, {}, {}, {}>", type, cpp_value_type(a.index_dtype), width, is_max, a.is_scan);
  };
  const bool is_bool = a.dtype == DType::kBool;
  switch (a.kind) {
    case ReductionKind::kSum: return is_bool ? fmt::format("Any<{}>", width) : plain("Sum");
    case ReductionKind::kProd: return is_bool ? fmt::format("All<{}>", width) : plain("Prod");
    case ReductionKind::kMin: return is_bool ? fmt::format("All<{}>", width) : plain("Min");
    case ReductionKind::kMax: return is_bool ? fmt::format("Any<{}>", width) : plain("Max");
    case ReductionKind::kAny: return fmt::format("Any<{}>", width);
    case ReductionKind::kAll: return fmt::format("All<{}>", width);
    case ReductionKind::kXorSum: return plain("XorSum");
    case ReductionKind::kArgMin:
    case ReductionKind::kMinWithIndex: return extreme(false);
    case ReductionKind::kArgMax:
    case ReductionKind::kMaxWithIndex: return extreme(true);
    case ReductionKind::kWelford: return plain("Welford");
    case ReductionKind::kLogSumExp: return plain("LogSumExp");
    case ReductionKind::kSort:
    case ReductionKind::kSortDescending: LITZ_CHECK(false, "{}: sorts are the framework's on this device", kernel_.name);
  }
  return {};
}

void KernelWriter::write_init(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  std::string identity;
  switch (a.kind) {
    case ReductionKind::kMin:
    case ReductionKind::kMax:
      if (a.dtype == DType::kBool) break;
      [[fallthrough]];
    case ReductionKind::kArgMin:
    case ReductionKind::kArgMax:
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kMaxWithIndex: identity = fmt::format("({})", cpp_literal(reduction_identity(a.kind, a.dtype), a.dtype)); break;
    default: break;
  }
  line("{} {}{};", accumulator_type(s.accumulator), accumulator_name_[s.accumulator], identity);
}

void KernelWriter::write_update(const KernelStatement& s) {
  const bool vector = accumulator_width_[s.accumulator] > 1;
  std::string arguments;
  for (KernelValue v : s.operands) arguments += ", " + operand(v, vector);
  line("{}.update({}{});", accumulator_name_[s.accumulator], tag(vector), arguments);
}

void KernelWriter::write_finish(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  const std::string& name = accumulator_name_[s.accumulator];
  const bool joins = !a.lanes.empty();
  std::string whole = name;
  auto structured = [&](std::initializer_list<const char*> joined_members, std::initializer_list<const char*> lane_members) {
    if (joins) {
      whole = fmt::format("{}_all", name);
      line("const auto {} = {}.finish();", whole, name);
    }
    int k = 0;
    for (const char* member : joins ? joined_members : lane_members) define(s.result + k++, fmt::format("{}.{}", whole, member));
  };
  switch (a.kind) {
    case ReductionKind::kArgMin:
    case ReductionKind::kArgMax: structured({"i"}, {"index()"}); break;
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kMaxWithIndex: structured({"a", "i"}, {"value()", "index()"}); break;
    case ReductionKind::kWelford: structured({"mean", "m2"}, {"mean", "m2"}); break;
    case ReductionKind::kLogSumExp:
      if (a.is_scan) structured({"log_sum()"}, {"log_sum()"});
      else structured({"value()", "sum()"}, {"value()", "sum()"});
      break;
    default: define(s.result, fmt::format("{}.{}()", name, joins ? "finish" : "value"));
  }
}

}  // namespace litz
