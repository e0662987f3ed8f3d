// Kernel IR as text.
#include "litz/kernel/kernel.h"
#include "litz/support/check.h"

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

const char* mode_name(ScatterMode mode) {
  static constexpr const char* kNames[] = {"", ".add", ".mul", ".min", ".max"};
  return kNames[static_cast<int>(mode)];
}

std::string number_text(const Number& n) { return n.is_float ? fmt::format("{}", n.real) : fmt::format("{}", n.integer); }

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    std::string head = fmt::format("kernel {}(", kernel_.name);
    for (size_t k = 0; k < kernel_.parameters.size(); ++k) {
      const KernelParameter& p = kernel_.parameters[k];
      head += fmt::format("{}{}: {} {}", k ? ", " : "", p.name, parameter_kind(p.kind), dtype_name(p.dtype));
    }
    line("{})  range {} grain {}{}", head, to_string(kernel_.range), to_string(kernel_.grain), kernel_.narrow_indices ? " narrow" : "");
    ++depth_;
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

  std::string memory(const KernelStatement& s) const {
    const std::string& name = s.memory.is_scratch ? kernel_.scratch[s.memory.index].name : kernel_.parameters[s.memory.index].name;
    return fmt::format("{}[{}]", name, to_string(s.offset));
  }
  std::string value(KernelValue v) const { return v == kNoKernelValue ? "_" : fmt::format("v{}", v); }
  std::string result(KernelValue v) const {
    const KernelValueInfo& info = kernel_.values[v];
    return fmt::format("v{}: {}{}", v, dtype_name(info.dtype),
                       info.varies.empty() ? "" : fmt::format("<{}>", to_string(info.varies.back()->step)));
  }

  void write(const std::vector<KernelStatement>& body) {
    for (const KernelStatement& s : body) write(s);
  }

  void write(const KernelStatement& s) {
    std::string operands;
    for (KernelValue v : s.operands) operands += " " + value(v);
    switch (s.kind) {
      case KernelOp::kLoop: return write_loop(*s.loop);
      case KernelOp::kLoad: return line("{} = load {}{}", result(s.result), memory(s), s.operands.empty() ? "" : " if" + operands);
      case KernelOp::kStore: return line("store{} {} ={}", mode_name(s.mode), memory(s), operands);
      case KernelOp::kInit:
        return line("{} = {}.init", kernel_.accumulators[s.accumulator].name, reduction_name(kernel_.accumulators[s.accumulator].kind));
      case KernelOp::kUpdate: return line("{}.update{}", kernel_.accumulators[s.accumulator].name, operands);
      case KernelOp::kFinish: {
        const Accumulator& a = kernel_.accumulators[s.accumulator];
        std::string results = result(s.result);
        for (int k = 1; k < accumulator_outputs(a); ++k) results += ", " + result(s.result + k);
        return line("{} = {}.finish", results, a.name);
      }
      case KernelOp::kCompute: return write_compute(s, operands);
    }
  }

  void write_compute(const KernelStatement& s, const std::string& operands) {
    std::string attribute;
    if (s.instr.op == Op::kConstant) attribute = " " + number_text(s.instr.number);
    if (s.instr.expr) attribute = " " + to_string(s.instr.expr);
    line("{} = {}{}{}", result(s.result), op_text(s.instr.op), operands, attribute);
  }

  void write_loop(const KernelLoop& loop) {
    std::string step = loop.has_lanes ? fmt::format(" step {}", to_string(loop.step)) : "";
    if (loop.is_whole) step += " whole";
    if (loop.cascade) step += fmt::format(" cascade {}", loop.cascade);
    line("{} {} in 0..{}{}", loop.is_parallel ? (loop.has_lanes ? "parallel vector" : "parallel") : (loop.has_lanes ? "vector" : "for"),
         to_string(loop.axis), to_string(loop.extent), step);
    ++depth_;
    write(loop.body);
    --depth_;
  }

  const Kernel& kernel_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string to_text(const Kernel& kernel) { return KernelPrinter(kernel).run(); }

}  // namespace litz
