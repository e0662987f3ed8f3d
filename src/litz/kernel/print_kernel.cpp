// Kernel IR as text; the grammar is what parse_kernel.cpp reads. Axes are declared in the order in which they were made: the order
// of terms in expressions follows it.
#include <algorithm>

#include "litz/kernel/kernel.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"
#include "litz/support/literal_text.h"
#include "litz/symbolic/expr_text.h"

namespace litz {

std::string_view kernel_op_name(KernelOp op) {
  switch (op) {
#define LITZ_KERNEL_OP(name, Enumerator, meaning) \
  case KernelOp::k##Enumerator: return #name;
#include "litz/kernel/ops.def"
#undef LITZ_KERNEL_OP
  }
  return {};
}

std::string shape_text(const KernelParameter& p) { return std::string(dtype_name(p.dtype)) + list_text(p.buffer->sizes); }

std::string lanes_text(const KernelValueInfo& value) {
  std::string text;
  for (const KernelLoop* loop : value.varies) text += (text.empty() ? "" : "x") + to_string(loop->step);
  return text.empty() ? "" : "<" + text + ">";
}

namespace {

const char* parameter_kind(KernelParameter::Kind kind) {
  switch (kind) {
    case KernelParameter::kInput: return "in";
    case KernelParameter::kOutput: return "out";
    case KernelParameter::kInOut: return "inout";
    case KernelParameter::kNumber: return "number";
  }
  return "";
}

std::string number_text(const Number& n) { return n.is_float ? float_text(n.real) : fmt::format("{}", n.integer); }

std::string parameter_text(const KernelParameter& p) {
  if (p.kind == KernelParameter::kNumber) return fmt::format("{}: number{}", p.name, p.number.is_symbol() ? "" : " " + to_string(p.number));
  const Device& device = p.buffer->device;
  const std::string place = device == Device{} ? "" : fmt::format(" on {} {}", device.type, device.index);
  return fmt::format("{}: {} {}{}", p.name, parameter_kind(p.kind), shape_text(p), place);
}

/// Every symbol of the kernel, as made.
std::vector<Expr> symbols_of(const Kernel& kernel) {
  std::vector<Expr> symbols;
  auto add = [&](auto& self, Expr expr) -> void {
    if (!expr || expr.is_integer()) return;
    for (Expr s : free_symbols(expr)) {
      if (std::ranges::find(symbols, s) != symbols.end()) continue;
      symbols.push_back(s);
      self(self, s.extent());
    }
  };
  for (const KernelParameter& p : kernel.parameters) {
    add(add, p.number);
    if (!p.buffer) continue;
    for (Expr e : p.buffer->sizes) add(add, e);
  }
  add(add, kernel.range);
  add(add, kernel.grain);
  for (const KernelScratch& s : kernel.scratch) add(add, s.elements);
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    add(add, s.offset);
    add(add, s.instr.expr);
    if (s.kind != KernelOp::kLoop) return;
    add(add, s.loop->axis);
    add(add, s.loop->extent);
  });
  std::ranges::sort(symbols, {}, &Expr::id);
  return symbols;
}

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel) : kernel_(kernel), symbols_(symbols_of(kernel)) {}

  std::string run() {
    std::string head = fmt::format("kernel {}(", kernel_.name);
    for (const KernelParameter& p : kernel_.parameters) head += (head.back() == '(' ? "" : ", ") + parameter_text(p);
    line("{})  range {} grain {}{}{}", head, to_string(kernel_.range), to_string(kernel_.grain), kernel_.narrow_indices ? " narrow" : "",
         kernel_.is_strict ? " strict" : "");
    ++depth_;
    for (Expr s : symbols_)
      if (!s.extent()) line("symbol {}", symbol_declaration(s));
    for (const KernelOrigin& o : kernel_.origins) line("source {}{}", o.name, o.note.empty() ? "" : " " + quoted(o.note));
    declare_axes();
    for (const KernelScratch& s : kernel_.scratch) line("scratch {}: {}[{}]", s.name, dtype_name(s.dtype), to_string(s.elements));
    write(kernel_.body);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void declare_axes() {
    std::string axes;
    for (Expr s : symbols_) {
      if (!s.extent()) continue;
      axes += fmt::format("{}{} < {}{}", axes.empty() ? "" : ", ", s.symbol_name(), to_string(s.extent()),
                          s.symbol_kind() == SymbolKind::kIndirect ? " indirect" : "");
    }
    if (!axes.empty()) line("axes {}", axes);
  }

  std::string memory(const KernelStatement& s) const {
    const std::string& name = s.memory.is_scratch ? kernel_.scratch[s.memory.index].name : kernel_.parameters[s.memory.index].name;
    return fmt::format("{}[{}]", name, to_string(s.offset));
  }
  std::string value(KernelValue v) const { return fmt::format("v{}", v); }
  std::string result(KernelValue v) const {
    const KernelValueInfo& info = kernel_.values[v];
    return fmt::format("v{}: {}{}", v, dtype_name(info.dtype), lanes_text(info));
  }
  std::string operands(const KernelStatement& s) const {
    std::string text;
    for (KernelValue v : s.operands) text += (text.empty() ? "" : " ") + value(v);
    return text;
  }

  void write(const std::vector<KernelStatement>& body) {
    for (const KernelStatement& s : body) write(s);
  }

  void write(const KernelStatement& s) {
    if (s.origin >= 0 && s.origin != origin_) {
      origin_ = s.origin;
      line("from {}", kernel_.origins[s.origin].name);
    }
    switch (s.kind) {
      case KernelOp::kLoop: return write_loop(*s.loop);
      case KernelOp::kLoad: return write_load(s);
      case KernelOp::kStore: return write_store(s);
      case KernelOp::kInit: return write_init(kernel_.accumulators[s.accumulator]);
      case KernelOp::kUpdate: return line("{}.update {}", kernel_.accumulators[s.accumulator].name, operands(s));
      case KernelOp::kFinish: {
        const Accumulator& a = kernel_.accumulators[s.accumulator];
        std::string results = result(s.result);
        for (int k = 1; k < accumulator_outputs(a); ++k) results += ", " + result(s.result + k);
        return line("{} = {}.finish", results, a.name);
      }
      case KernelOp::kCompute: return line("{} = {}", result(s.result), compute_text(s));
    }
  }

  void write_load(const KernelStatement& s) {
    std::string text = fmt::format("{} = load {}", result(s.result), memory(s));
    if (!s.operands.empty()) text += " if " + value(s.operands[0]);
    if (s.instr.number != Number{}) text += " else " + number_text(s.instr.number);
    line("{}", text);
  }

  void write_store(const KernelStatement& s) {
    static constexpr const char* kModes[] = {"", ".add", ".mul", ".min", ".max"};
    std::string text =
        fmt::format("{}{} {} = {}", s.is_scatter ? "scatter" : "store", kModes[static_cast<int>(s.mode)], memory(s), value(s.operands[0]));
    if (s.operands.size() > 1) text += " if " + value(s.operands[1]);
    line("{}", text);
  }

  void write_init(const Accumulator& a) {
    std::string text = fmt::format("{} = {}.init {}", a.name, reduction_name(a.kind), dtype_name(a.dtype));
    if (accumulator_inputs(a) == 2) text += fmt::format(" {}", dtype_name(a.index_dtype));
    if (a.is_scan) text += " scan";
    for (size_t k = 0; k < a.lanes.size(); ++k) text += (k ? ", " : " over ") + to_string(a.lanes[k]->axis);
    line("{}", text);
  }

  std::string compute_text(const KernelStatement& s) const {
    const Instr& i = s.instr;
    switch (i.op) {
      case Op::kConstant: return "constant " + number_text(i.number);
      case Op::kIndexExpr: return "index_expr " + to_string(i.expr);
      case Op::kIndirect: return fmt::format("indirect {} as {}", value(s.operands[0]), i.expr.symbol_name());
      case Op::kCheckIndex: {
        const bool is_guarded = s.operands.size() > 1 && s.operands[1] != kNoKernelValue;
        return fmt::format("check_index {} < {}{}{}", value(s.operands[0]), to_string(i.expr),
                           is_guarded ? " if " + value(s.operands[1]) : "", i.message.empty() ? "" : " " + quoted(i.message));
      }
      case Op::kAssertTrue: return fmt::format("assert_true {} {}", value(s.operands[0]), quoted(i.message));
      default: return fmt::format("{} {}", op_text(i.op), operands(s));
    }
  }

  void write_loop(const KernelLoop& loop) {
    std::string text = fmt::format(
        "{} {} in 0..{}", loop.is_parallel ? (loop.has_lanes ? "parallel vector" : "parallel") : (loop.has_lanes ? "vector" : "for"),
        to_string(loop.axis), to_string(loop.extent));
    if (loop.has_lanes) text += " step " + to_string(loop.step);
    if (loop.lane && std::ranges::find(symbols_, loop.lane) != symbols_.end()) text += " lane " + to_string(loop.lane);
    if (loop.is_whole) text += " whole";
    if (loop.cascade) text += fmt::format(" cascade {}", loop.cascade);
    line("{}", text);
    ++depth_;
    write(loop.body);
    --depth_;
  }

  const Kernel& kernel_;
  std::vector<Expr> symbols_;
  std::string text_;
  int depth_ = 0;
  int origin_ = -1;
};

}  // namespace

std::string to_text(const Kernel& kernel) { return KernelPrinter(kernel).run(); }

}  // namespace litz
