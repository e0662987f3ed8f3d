// Wrapper IR as text; the grammar is what parse_wrapper.cpp reads.
#include <algorithm>

#include "litz/loop/argument_text.h"
#include "litz/support/literal_text.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

std::string_view line_name(const WrapperLine& line) {
  static constexpr std::string_view kNames[] = {
#define LITZ_LINE(name, Enumerator, meaning) #name,
#include "litz/wrapper/ops.def"
#undef LITZ_LINE
  };
  return kNames[line.index()];
}

namespace {

class Printer {
 public:
  explicit Printer(const WrapperProgram& p) : p_(p) {}

  std::string run() {
    text_ = fmt::format("wrapper {}\n", p_.name);
    for (Expr s : symbols()) line("symbol {}", symbol_declaration(s));
    for (const OpSchema* schema : schemas()) line("schema {}", schema_text(*schema));
    for (const WrapperKernel& k : p_.kernels) {
      std::string messages;
      for (const std::string& m : k.messages) messages += " " + quoted(m);
      line("kernel {}{}{}", k.name, k.reports_errors ? " reports_errors" : "", messages);
    }
    for (const auto& in : p_.inputs) line("input {}", in.tensor < 0 ? "number " + to_string(in.number) : declared(in.tensor));
    for (TensorId t : p_.constant_tensors) line("constant {}", declared(t));
    for (const WrapperLine& any : p_.lines) line("{}", std::visit([&](const auto& l) { return print(l, line_name(any)); }, any));
    std::string outputs;
    for (const WrapperOutput& o : p_.outputs) outputs += (outputs.empty() ? " " : ", ") + output(o);
    line("return{}", outputs);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  ";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // ---- what the lines name ----

  /// As made: the order of terms in expressions follows it.
  std::vector<Expr> symbols() const {
    std::vector<Expr> symbols;
    auto all = [&](std::span<const Expr> exprs) {
      for (Expr e : exprs) collect_size_symbols(e, symbols);
    };
    auto one = [&](Expr e) { collect_size_symbols(e, symbols); };
    for (const WrapperTensor& t : p_.tensors) all(t.sizes), all(t.strides), one(t.offset);
    for (const WrapperInput& in : p_.inputs) one(in.number);
    auto argument = [&](auto& self, const WrapperArgument& a) -> void {
      if (auto* e = std::get_if<Expr>(&a)) one(*e);
      if (auto* list = std::get_if<WrapperArgumentList>(&a))
        for (const WrapperArgument& element : *list) self(self, element);
    };
    for (const WrapperLine& any : p_.lines) {
      if (auto* l = std::get_if<ArenaLine>(&any)) one(l->bytes);
      if (auto* l = std::get_if<PlaceLine>(&any)) one(l->byte_offset);
      if (auto* l = std::get_if<KernelCallLine>(&any)) all(l->numbers), one(l->range), one(l->grain), one(l->scratch_bytes);
      if (auto* l = std::get_if<ReadNumberLine>(&any)) one(l->symbol);
      if (auto* l = std::get_if<AssertLine>(&any)) one(l->condition);
      if (auto* l = std::get_if<ExternCallLine>(&any)) {
        all(l->number_results);
        for (const WrapperArgument& a : l->arguments) argument(argument, a);
      }
    }
    for (const WrapperOutput& o : p_.outputs)
      if (auto* e = std::get_if<Expr>(&o.value)) one(*e);
    std::ranges::sort(symbols, {}, &Expr::id);
    return symbols;
  }

  std::vector<const OpSchema*> schemas() const {
    std::vector<const OpSchema*> schemas;
    for (const WrapperLine& any : p_.lines) {
      auto* l = std::get_if<ExternCallLine>(&any);
      if (l && std::ranges::find(schemas, l->callee->name, &OpSchema::name) == schemas.end()) schemas.push_back(l->callee);
    }
    return schemas;
  }

  static std::string device(const Device& d) { return fmt::format("{}:{}", d.type, d.index); }
  std::string tensor(TensorId id) const { return id < 0 ? "_" : fmt::format("%{}_{}", p_.tensors[id].name, id); }

  std::string declared(TensorId id) const {
    const WrapperTensor& t = p_.tensors[id];
    const std::string offset = t.offset && !t.offset.is_integer(0) ? " offset " + to_string(t.offset) : "";
    return fmt::format("{} : {} {} strides {}{} {}", tensor(id), dtype_name(t.dtype), list_text(t.sizes), list_text(t.strides), offset,
                       device(t.device));
  }

  template <typename List, typename Text>
  static std::string joined(const List& list, Text text) {
    std::string out;
    for (const auto& element : list) out += (out.empty() ? "" : ", ") + text(element);
    return out;
  }

  std::string argument(const WrapperArgument& a) const {
    return std::visit(
        [&]<typename T>(const T& v) -> std::string {
          if constexpr (std::is_same_v<T, TensorRef>) return tensor(v.id);
          else if constexpr (std::is_same_v<T, WrapperArgumentList>)
            return "[" + joined(v, [&](const WrapperArgument& e) { return argument(e); }) + "]";
          else return scalar_text(v, to_string);
        },
        static_cast<const WrapperArgument::variant&>(a));
  }

  std::string output(const WrapperOutput& o) const {
    return std::visit(
        [&]<typename T>(const T& v) -> std::string {
          if constexpr (std::is_same_v<T, TensorRef>) return tensor(v.id);
          else if constexpr (std::is_same_v<T, WrapperOutput::Input>) return fmt::format("input {}", v.position);
          else return scalar_text(v, to_string);
        },
        o.value);
  }

  // ---- lines ----

  std::string print(const CommentLine& l, std::string_view) const { return "# " + l.text; }
  std::string print(const AllocateLine& l, std::string_view name) const {
    return fmt::format("{} {}{}", name, declared(l.tensor), l.escapes ? " escapes" : "");
  }
  /// The bytes in memory order, two digits each.
  std::string print(const DataLine& l, std::string_view name) const {
    const HostTensor& data = p_.data[static_cast<size_t>(l.data)];
    std::string digits;
    for (int64_t k = 0; k < data.numel() * dtype_bytes(data.dtype); ++k)
      fmt::format_to(std::back_inserter(digits), "{:02x}", std::to_integer<unsigned>(data.data[k]));
    return fmt::format("{} {} = \"{}\"", name, declared(l.tensor), digits);
  }
  std::string print(const ArenaLine& l, std::string_view name) const {
    return fmt::format("{} {} bytes {} {}", name, l.arena, to_string(l.bytes), device(l.device));
  }
  std::string print(const PlaceLine& l, std::string_view name) const {
    return fmt::format("{} {} in arena {} at {}", name, declared(l.tensor), l.arena, to_string(l.byte_offset));
  }
  std::string print(const ReinterpretLine& l, std::string_view name) const {
    return fmt::format("{} {} of {}", name, declared(l.tensor), tensor(l.base));
  }
  std::string print(const FreeLine& l, std::string_view name) const { return fmt::format("{} {}", name, tensor(l.tensor)); }
  std::string print(const KernelCallLine& l, std::string_view name) const {
    return fmt::format("{} {}({}; {}) range {} grain {}{}", name, p_.kernels[l.kernel].name,
                       joined(l.tensors, [&](TensorId t) { return tensor(t); }), list_text(l.numbers), to_string(l.range),
                       to_string(l.grain), l.scratch_bytes ? " scratch " + to_string(l.scratch_bytes) : "");
  }
  std::string print(const ExternCallLine& l, std::string_view name) const {
    std::string results = joined(l.results, [&](TensorId t) { return t < 0 ? std::string("_") : declared(t); });
    for (Expr s : l.number_results) results += (results.empty() ? "" : ", ") + to_string(s);
    return fmt::format("{} {}{}{}({}){}", name, results, results.empty() ? "" : " = ", l.callee->name,
                       joined(l.arguments, [&](const WrapperArgument& a) { return argument(a); }), l.in_float32 ? " in f32" : "");
  }
  std::string print(const ReadNumberLine& l, std::string_view name) const {
    constexpr const char* kKinds[] = {"size", "stride", "storage_offset"};
    return fmt::format("{} {} = {}({}, {})", name, to_string(l.symbol), kKinds[l.kind], tensor(l.tensor), l.dimension);
  }
  std::string print(const AssertLine& l, std::string_view name) const {
    return fmt::format("{} {} {}", name, to_string(l.condition), quoted(l.message));
  }
  std::string print(const CopyLine& l, std::string_view name) const {
    return fmt::format("{} {} <- {}", name, tensor(l.destination), tensor(l.source));
  }

  const WrapperProgram& p_;
  std::string text_;
};

}  // namespace

std::string to_text(const WrapperProgram& program) { return Printer(program).run(); }

}  // namespace litz
