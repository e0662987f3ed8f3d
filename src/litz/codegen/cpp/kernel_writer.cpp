// The frame of a kernel and its loops.
#include "litz/codegen/cpp/kernel_writer.h"

#include <algorithm>
#include <set>

#include "litz/codegen/cpp/cpp_names.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"

namespace litz {

KernelWriter::KernelWriter(const Kernel& kernel) : kernel_(kernel), value_text_(kernel.values.size()) {
  find_uses();
  for (const Accumulator& a : kernel.accumulators) accumulator_name_.push_back(a.name);
}

namespace {

constexpr int64_t kUnrolledTrips = 4;  // of loops that the compiler may make straight

/// The header beside vec.h that defines a function in float64; null for what vec.h has itself.
const char* float64_header(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kExpm1:
    case Op::kSigmoid:
    case Op::kTanh:
    case Op::kSinh:
    case Op::kCosh: return "float64_exponential.h";
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kAsinh:
    case Op::kAcosh:
    case Op::kAtanh:
    case Op::kPow: return "float64_logarithm.h";
    case Op::kSin:
    case Op::kCos:
    case Op::kTan:
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kAtan2: return "float64_trigonometry.h";
    case Op::kErf:
    case Op::kErfc: return "float64_error_function.h";
    default: return nullptr;
  }
}

/// Few kernels need one, so that vec.h does without them and stays quick to parse.
std::set<std::string_view> float64_headers(const Kernel& kernel) {
  std::set<std::string_view> out;
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    if (s.kind != KernelOp::kCompute || s.instr.dtype != DType::kFloat64) return;
    if (const char* header = float64_header(s.instr.op)) out.insert(header);
  });
  for (const Accumulator& a : kernel.accumulators) {
    if (a.kind == ReductionKind::kLogSumExp && a.dtype == DType::kFloat64) out.insert("float64_logarithm.h");
  }
  return out;
}

}  // namespace

std::string KernelWriter::run(const std::string& entry) {
  for (std::string_view header : float64_headers(kernel_)) line("#include \"litz/{}\"", header);
  for (const KernelOrigin& o : kernel_.origins) line("// {}", cpp_comment(o.note.empty() ? o.name : o.name + "; " + o.note));
  line("extern \"C\" void {}(void* const* p, const i64* n, i64 begin, i64 end) {{", entry);
  ++depth_;
  write_head();
  write_parallel();
  --depth_;
  line("}}");
  return std::move(text_);
}

void KernelWriter::write_head() {
  int in = 0, out = 0, tensors = 0, numbers = 0;
  for (size_t k = 0; k < kernel_.parameters.size(); ++k) {
    const KernelParameter& p = kernel_.parameters[k];
    if (p.kind == KernelParameter::kNumber) {
      line("const i64 s{} = n[{}];  // {}", numbers, numbers, cpp_comment(to_string(p.number)));
      index_.bind(p.number, fmt::format("s{}", numbers));
      ++numbers;
      continue;
    }
    const char* type = cpp_element_type(p.dtype);
    if (p.kind == KernelParameter::kInput)
      line("const {}* in{} = (const {}*)p[{}];  // {}", type, in++, type, tensors, cpp_comment(p.name + " " + shape_text(p)));
    else
      line("{}* out{} = ({}*)p[{}];  // {}{}", type, out++, type, tensors, cpp_comment(p.name + " " + shape_text(p)),
           p.kind == KernelParameter::kInOut ? ", read and written" : "");
    ++tensors;
  }
  const bool on_stack = !scratch_bytes(kernel_);
  for (size_t k = 0; k < kernel_.scratch.size(); ++k) {
    const KernelScratch& s = kernel_.scratch[k];
    const char* type = cpp_element_type(s.dtype);
    if (on_stack) line("alignas({}) {} scratch{}[{}];  // {}", kScratchAlignment, type, k, s.elements.integer(), cpp_comment(s.name));
    else
      line("{}* scratch{} = ({}*)((u8*)p[{}] + {});  // {}", type, k, type, tensors,
           index_.scalar(scratch_offset(kernel_, static_cast<int>(k))), cpp_comment(s.name));
  }
  if (!on_stack) ++tensors;
  if (kernel_.reports_errors) line("KernelError* error = (KernelError*)p[{}];", tensors);
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    // An index of an empty dimension has no value that would be safe to go on with.
    const bool checks = s.kind == KernelOp::kCompute && s.instr.op == Op::kCheckIndex;
    if (!checks || s.instr.expr.range().lower >= 1 || (s.operands.size() > 1 && s.operands[1] != kNoKernelValue)) return;
    for (Expr symbol : free_symbols(s.instr.expr)) {
      if (symbol.symbol_kind() == SymbolKind::kAxis || symbol.symbol_kind() == SymbolKind::kIndirect) return;
    }
    line("if ({} <= 0) return report(error, index_out_of_range, 0, {});", index_.scalar(s.instr.expr), index_.scalar(s.instr.expr));
  });
}

// The parallel loops as one range: its pieces are the iterations of the loops taken together, the innermost fastest. Outer loop
// variables are computed once for each run of the innermost loop.
void KernelWriter::write_parallel() {
  std::vector<const KernelLoop*> loops;
  const std::vector<KernelStatement>* body = &kernel_.body;
  auto parallel_in = [](const std::vector<KernelStatement>& statements) -> const KernelLoop* {
    if (statements.empty() || statements.back().kind != KernelOp::kLoop || !statements.back().loop->is_parallel) return nullptr;
    return statements.back().loop.get();
  };
  while (const KernelLoop* loop = parallel_in(*body)) {
    loops.push_back(loop);
    body = &loop->body;
  }
  if (loops.empty()) {
    line("if (begin >= end) return;");
    write_body(kernel_.body);
    return;
  }
  auto write_hoisted = [&](const std::vector<KernelStatement>& statements) {
    for (const KernelStatement& s : statements) {
      if (s.kind != KernelOp::kLoop) write_statement(s);
    }
  };
  write_hoisted(kernel_.body);
  if (loops.size() == 1) {
    write_steps(*loops[0], "begin", "end");
    return;
  }
  std::vector<std::string> trips;
  for (size_t k = 1; k < loops.size(); ++k) {
    line("const i64 trips{} = {};", k, index_.scalar(ceil_div(loops[k]->extent, loops[k]->step)));
    trips.push_back(fmt::format("trips{}", k));
  }
  keep_rolled();
  line("for (i64 piece = begin; piece < end;) {{");
  ++depth_;
  line("i64 outer = piece / {};", trips.back());
  line("const i64 first = piece % {0}, last = minimum<i64>({0}, first + end - piece);", trips.back());
  line("piece += last - first;");
  std::vector<std::string> names;
  for (size_t k = 0; k + 1 < loops.size(); ++k) names.push_back(open_axis(*loops[k]));
  for (size_t k = loops.size() - 1; k-- > 0;) {
    if (k == 0) line("const i64 {} = outer;", names[k]);
    else line("const i64 {} = outer % {};", names[k], trips[k - 1]);
    if (k > 0) line("outer /= {};", trips[k - 1]);
  }
  for (size_t k = 0; k + 1 < loops.size(); ++k) write_hoisted(loops[k]->body);
  write_steps(*loops.back(), "first", "last");
  for (size_t k = 0; k + 1 < loops.size(); ++k) close_axis(*loops[k]);
  --depth_;
  line("}}");
}

std::string KernelWriter::open_axis(const KernelLoop& loop) {
  const int number = loops_++;
  const bool is_type = number == 8 || number == 16 || number == 32 || number == 64;  // i8, ...
  std::string name = fmt::format("i{}{}", number, is_type ? "_" : "");
  if (loop.has_lanes) {
    LITZ_CHECK(lanes_ == 1, "kernel {}: a loop with lanes inside another", kernel_.name);
    lanes_ = static_cast<int>(loop.step.integer());
    index_.bind_lanes(loop.axis, name);
    index_.bind_lanes(loop.lane, "0");
  } else {
    index_.bind(loop.axis, name);
  }
  return name;
}

void KernelWriter::close_axis(const KernelLoop& loop) {
  index_.unbind(loop.axis);
  if (!loop.has_lanes) return;
  index_.unbind(loop.lane);
  lanes_ = 1;
}

void KernelWriter::write_body(const std::vector<KernelStatement>& body) {
  for (const KernelStatement& s : body) write_statement(s);
}

/// Iterations [begin, end) of the loop, counted in steps.
void KernelWriter::write_steps(const KernelLoop& loop, const std::string& begin, const std::string& end) {
  if (loop.has_lanes) {
    const std::string step = to_string(loop.step);
    auto scaled = [&](const std::string& s) { return fmt::format("{} * {}", s, step); };
    std::string last = scaled(end);
    const bool whole = is_multiple(loop.extent, loop.step.integer());
    if (!whole) last = fmt::format("minimum<i64>({}, {})", last, index_.scalar(loop.extent));
    write_lane_steps(loop, scaled(begin), last, !whole);
    return;
  }
  const std::string name = open_axis(loop);
  const auto known = loop.extent.as_integer();
  if (!known || *known > kUnrolledTrips || loop.is_parallel) keep_rolled();
  line("for (i64 {0} = {1}; {0} < {2}; ++{0}) {{", name, begin, end);
  ++depth_;
  write_body(loop.body);
  --depth_;
  line("}}");
  close_axis(loop);
}

/// The step at which the axis ends may be partial: then the body is a lambda that for_lanes instantiates for both.
void KernelWriter::write_lane_steps(const KernelLoop& loop, const std::string& begin, const std::string& end, bool ends_inside) {
  const std::string name = open_axis(loop);
  if (ends_inside) line("for_lanes<{}>({}, {}, [&](i64 {}, auto l) LITZ_BODY {{", lanes_, begin, end, name);
  else {
    keep_rolled();
    line("for (i64 {0} = {1}; {0} < {2}; {0} += {3}) {{", name, begin, end, lanes_);
  }
  ++depth_;
  if (!ends_inside) line("constexpr Full<{}> l{{}};", lanes_);
  write_body(loop.body);
  --depth_;
  line("{}", ends_inside ? "});" : "}");
  close_axis(loop);
}

/// for a { for b with lanes { to[b*S + a] = from[a*R + b] } } is one call that turns the tile through registers.
bool KernelWriter::write_transposing_copy(const KernelLoop& loop) {
  if (loop.has_lanes || loop.cascade || loop.body.size() != 1 || loop.body[0].kind != KernelOp::kLoop) return false;
  const KernelLoop& inner = *loop.body[0].loop;
  if (!inner.has_lanes || inner.body.size() != 2) return false;
  const KernelStatement& load = inner.body[0];
  const KernelStatement& store = inner.body[1];
  const bool copies = load.kind == KernelOp::kLoad && store.kind == KernelOp::kStore && load.operands.empty() &&
                      store.mode == ScatterMode::kStore && store.operands.size() == 1 && store.operands[0] == load.result &&
                      load.memory != store.memory;
  if (!copies) return false;
  const Expr axes[2] = {loop.axis, inner.axis};
  auto from = linear_form(load.offset, axes), to = linear_form(store.offset, axes);
  if (!from || !to || !from->coefficients[1].is_integer(1) || !to->coefficients[0].is_integer(1)) return false;
  static constexpr const char* kRaw[] = {"", "u8", "u16", "", "u32", "", "", "", "u64"};
  const char* raw = kRaw[dtype_bytes(load.instr.dtype)];
  line("transpose_tile(({0}*){1} + {2}, {3}, (const {0}*){4} + {5}, {6}, {7}, {8});", raw, pointer(store.memory), index_.scalar(to->rest),
       index_.scalar(to->coefficients[1]), pointer(load.memory), index_.scalar(from->rest), index_.scalar(from->coefficients[0]),
       index_.scalar(loop.extent), index_.scalar(inner.extent));
  return true;
}

void KernelWriter::write_loop(const KernelLoop& loop) {
  if (write_transposing_copy(loop)) return;
  if (loop.cascade) {
    write_cascaded(loop);
    return;
  }
  const std::string extent = index_.scalar(loop.extent);
  if (loop.has_lanes) write_lane_steps(loop, "0", extent, !is_multiple(loop.extent, loop.step.integer()));
  else write_steps(loop, "0", extent);
}

/// Blocks of `cascade` iterations; float sums updated inside start anew in each block and are then added to the whole.
void KernelWriter::write_cascaded(const KernelLoop& loop) {
  std::vector<int> sums;
  for_each_statement(loop.body, [&](const KernelStatement& s) {
    if (s.kind != KernelOp::kUpdate) return;
    const Accumulator& a = kernel_.accumulators[s.accumulator];
    if (a.kind == ReductionKind::kSum && is_floating(a.dtype) && std::ranges::find(sums, s.accumulator) == sums.end())
      sums.push_back(s.accumulator);
  });
  const int64_t step = loop.step.integer();
  const std::string block = fmt::format("b{}", loops_);
  const std::string extent = index_.scalar(loop.extent);
  keep_rolled();
  line("for (i64 {0} = 0; {0} < {1}; {0} += {2}) {{", block, extent, loop.cascade * step);
  ++depth_;
  std::vector<std::string> whole;
  for (int a : sums) {
    whole.push_back(accumulator_name_[a]);
    accumulator_name_[a] += "_block";
    line("{} {};", accumulator_type(a), accumulator_name_[a]);
  }
  const std::string end = fmt::format("minimum<i64>({} + {}, {})", block, loop.cascade * step, extent);
  if (loop.has_lanes) write_lane_steps(loop, block, end, !is_multiple(loop.extent, step));
  else write_steps(loop, block, end);
  for (size_t k = 0; k < sums.size(); ++k) {
    line("{}.merge({});", whole[k], accumulator_name_[sums[k]]);
    accumulator_name_[sums[k]] = whole[k];
  }
  --depth_;
  line("}}");
}

}  // namespace litz
