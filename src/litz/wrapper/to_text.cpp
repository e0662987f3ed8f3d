#include "litz/graph/graph.h"
#include "litz/support/check.h"
#include "litz/wrapper/wrapper.h"

namespace litz {
namespace {

std::string list(std::span<const Expr> exprs) {
  std::string text;
  for (Expr e : exprs) text += (text.empty() ? "" : ", ") + to_string(e);
  return "[" + text + "]";
}

class Printer {
 public:
  explicit Printer(const WrapperProgram& p) : p_(p) {}

  std::string run() {
    text_ = fmt::format("wrapper {}\n", p_.name);
    for (const auto& in : p_.inputs)
      text_ += in.tensor < 0 ? fmt::format("  input number {}\n", to_string(in.number)) : fmt::format("  input {}\n", declared(in.tensor));
    for (size_t k = 0; k < p_.constants.size(); ++k) text_ += fmt::format("  constant {}\n", declared(p_.constant_tensors[k]));
    for (const auto& line : p_.lines) std::visit([&](const auto& l) { print(l); }, line);
    text_ += "  return";
    for (size_t k = 0; k < p_.outputs.size(); ++k) text_ += (k ? ", " : " ") + output(p_.outputs[k]);
    return text_ + "\n";
  }

 private:
  std::string name(TensorId id) const { return id < 0 ? "_" : fmt::format("%{}_{}", p_.tensors[id].name, id); }

  std::string declared(TensorId id) const {
    const WrapperTensor& t = p_.tensors[id];
    std::string offset = t.offset && !t.offset.is_integer(0) ? " offset " + to_string(t.offset) : "";
    return fmt::format("{} : {} {} strides {}{} {}:{}", name(id), dtype_name(t.dtype), list(t.sizes), list(t.strides), offset,
                       t.device.type, t.device.index);
  }

  std::string argument(const WrapperArgument& a) const {
    return std::visit(
        [&](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, None>) return "none";
          else if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
          else if constexpr (std::is_same_v<T, std::complex<double>>) return fmt::format("({}+{}j)", v.real(), v.imag());
          else if constexpr (std::is_same_v<T, Expr>) return to_string(v);
          else if constexpr (std::is_same_v<T, std::string>) return "\"" + v + "\"";
          else if constexpr (std::is_same_v<T, DType>) return std::string(dtype_name(v));
          else if constexpr (std::is_same_v<T, Device>) return fmt::format("{}:{}", v.type, v.index);
          else if constexpr (std::is_same_v<T, MemoryFormat>) return fmt::format("memory_format({})", static_cast<int>(v));
          else if constexpr (std::is_same_v<T, TensorRef>) return name(v.id);
          else if constexpr (std::is_same_v<T, WrapperArgumentList>) {
            std::string text;
            for (const auto& e : v) text += (text.empty() ? "" : ", ") + argument(e);
            return "[" + text + "]";
          } else return fmt::format("{}", v);
        },
        static_cast<const WrapperArgument::variant&>(a));
  }

  std::string output(const WrapperOutput& o) const {
    return std::visit(
        [&](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, None>) return "none";
          else if constexpr (std::is_same_v<T, TensorRef>) return name(v.id);
          else if constexpr (std::is_same_v<T, WrapperOutput::Input>) return fmt::format("input {}", v.position);
          else if constexpr (std::is_same_v<T, Expr>) return to_string(v);
          else return fmt::format("{}", v);
        },
        o.value);
  }

  template <typename List>
  std::string names(const List& ids) const {
    std::string text;
    for (TensorId t : ids) text += (text.empty() ? "" : ", ") + name(t);
    return text;
  }

  void print(const CommentLine& l) { text_ += fmt::format("  # {}\n", l.text); }
  void print(const AllocateLine& l) { text_ += fmt::format("  alloc {}{}\n", declared(l.tensor), l.escapes ? " escapes" : ""); }
  void print(const ArenaLine& l) {
    text_ += fmt::format("  arena {} bytes {} {}:{}\n", l.arena, to_string(l.bytes), l.device.type, l.device.index);
  }
  void print(const PlaceLine& l) {
    text_ += fmt::format("  place {} in arena {} at {}\n", declared(l.tensor), l.arena, to_string(l.byte_offset));
  }
  void print(const ReinterpretLine& l) { text_ += fmt::format("  view {} of {}\n", declared(l.tensor), name(l.base)); }
  void print(const FreeLine& l) { text_ += fmt::format("  free {}\n", name(l.tensor)); }
  void print(const KernelCallLine& l) {
    text_ += fmt::format("  call {}({}; {}) range {} grain {}{}\n", p_.kernels[l.kernel].name, names(l.tensors), list(l.numbers),
                         to_string(l.range), to_string(l.grain), l.scratch_bytes ? " scratch " + to_string(l.scratch_bytes) : "");
  }
  void print(const ExternCallLine& l) {
    std::string arguments;
    for (const auto& a : l.arguments) arguments += (arguments.empty() ? "" : ", ") + argument(a);
    std::string results;
    for (TensorId t : l.results) results += (results.empty() ? "" : ", ") + (t < 0 ? std::string("_") : declared(t));
    for (Expr s : l.number_results) results += (results.empty() ? "" : ", ") + to_string(s);
    text_ += fmt::format("  extern {}{}{}({})\n", results, results.empty() ? "" : " = ", l.callee->name, arguments);
  }
  void print(const ReadNumberLine& l) {
    constexpr const char* kKinds[] = {"size", "stride", "storage_offset"};
    text_ += fmt::format("  number {} = {}({}, {})\n", to_string(l.symbol), kKinds[l.kind], name(l.tensor), l.dimension);
  }
  void print(const AssertLine& l) { text_ += fmt::format("  assert {} \"{}\"\n", to_string(l.condition), l.message); }
  void print(const CopyLine& l) { text_ += fmt::format("  copy {} <- {}\n", name(l.destination), name(l.source)); }

  const WrapperProgram& p_;
  std::string text_;
};

}  // namespace

std::string to_text(const WrapperProgram& program) { return Printer(program).run(); }

}  // namespace litz
