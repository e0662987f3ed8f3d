// The printer of loop IR. The grammar is what parse_program.cpp reads.
#include <algorithm>
#include <unordered_map>

#include "litz/loop/argument_text.h"
#include "litz/loop/interpret.h"
#include "litz/loop/program.h"
#include "litz/support/literal_text.h"

namespace litz {

namespace {

using SymbolNames = std::unordered_map<std::string, std::string>;

/// Axes and indirect symbols have names unique in their context (i0_17); text shows them by their place in the operation (i0, r0, t0):
/// whole identifiers are replaced in printed expressions.
std::string rename_symbols(std::string_view text, const SymbolNames& names) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    auto is_letter = [&](size_t j) { return j < text.size() && (isalnum(static_cast<unsigned char>(text[j])) || text[j] == '_'); };
    if (!is_letter(k)) {
      out += text[k++];
      continue;
    }
    size_t end = k;
    while (is_letter(end)) ++end;
    std::string word(text.substr(k, end - k));
    auto it = names.find(word);
    out += it == names.end() ? word : it->second;
    k = end;
  }
  return out;
}

std::string number_text(const Number& n) { return n.is_float ? float_text(n.real) : fmt::format("{}", n.integer); }

struct Names {
  SymbolNames map;
  std::string operator()(Expr e) const { return rename_symbols(to_string(e), map); }
  std::string list(std::span<const Expr> exprs) const {
    std::string out;
    for (Expr e : exprs) out += (out.empty() ? "" : ", ") + (*this)(e);
    return "[" + out + "]";
  }
};

struct BodyPrinter : UniformHandler<BodyPrinter, std::string> {
  Names& names;
  std::string out;
  int count = 0;
  int indirects = 0;
  explicit BodyPrinter(Names& names) : names(names) {}

  std::string line(std::string text) {
    std::string name = fmt::format("v{}", count++);
    out += fmt::format("    {} = {}\n", name, text);
    return name;
  }
  std::string constant(const Instr& i) { return line(fmt::format("constant {} : {}", number_text(i.number), dtype_name(i.dtype))); }
  std::string index_expr(const Instr& i) { return line(fmt::format("index_expr {} : {}", names(i.expr), dtype_name(i.dtype))); }
  std::string load(const Instr& i, const std::string* p) {
    return line(fmt::format("load {} {}{}", i.buffer->name, names.list(i.coordinates), p ? " if " + *p : ""));
  }
  std::string indirect(const Instr& i, const std::string& v) {
    std::string name = fmt::format("t{}", indirects++);
    names.map[std::string(i.expr.symbol_name())] = name;
    return line(fmt::format("indirect {} as {} < {}", v, name, names(i.expr.extent())));
  }
  std::string check_index(const Instr& i, const std::string& v, const std::string* p) {
    return line(
        fmt::format("check_index {} < {}{}{}", v, names(i.expr), p ? " if " + *p : "", i.message.empty() ? "" : " " + quoted(i.message)));
  }
  std::string assert_true(const Instr& i, const std::string& v) { return line(fmt::format("assert_true {} {}", v, quoted(i.message))); }
  std::string random_uint(const Instr&, const std::string& a, const std::string& b) { return line(fmt::format("random_uint {} {}", a, b)); }
  std::string apply(const Instr& i, std::initializer_list<std::string> operands) {
    std::string text(op_text(i.op));
    for (const auto& o : operands) text += " " + o;
    if (op_result(i.op) == OpResult::kExplicit) text += fmt::format(" : {}", dtype_name(i.dtype));
    return line(std::move(text));
  }
};

std::string tensor_text(const ExternTensor& t, const Names& outer) {
  std::string text = "%" + t.buffer->name;
  if (t.axes != t.coordinates || t.sizes != t.buffer->sizes) {
    Names names = outer;
    std::string axes;
    for (size_t k = 0; k < t.axes.size(); ++k) {
      std::string name = fmt::format("a{}", k);
      names.map[std::string(t.axes[k].symbol_name())] = name;
      axes += fmt::format("{}{} < {}", k ? ", " : "", name, outer(t.sizes[k]));
    }
    text += fmt::format("{{{} -> {}}}", axes, names.list(t.coordinates));
  }
  if (t.dtype != t.buffer->dtype) text += fmt::format(" as {}", dtype_name(t.dtype));
  if (!t.required_strides.empty()) text += " needs " + outer.list(t.required_strides);
  return text;
}

std::string argument_text(const ExternArgument& argument, const Names& names) {
  return std::visit(
      [&]<typename T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, ExternTensor>) {
          return tensor_text(v, names);
        } else if constexpr (std::is_same_v<T, ExternArgumentList>) {
          std::string out;
          for (const auto& a : v) out += (out.empty() ? "" : ", ") + argument_text(a, names);
          return "[" + out + "]";
        } else {
          return scalar_text(v, names);
        }
      },
      static_cast<const ExternArgument::variant&>(argument));
}

constexpr std::string_view kScatterNames[] = {"store", "add", "mul", "min", "max"};

std::string header_text(const Operation& op, const Names& names) {
  std::string kind;
  switch (op.kind) {
    case OperationKind::kPointwise: kind = "pointwise"; break;
    case OperationKind::kReduction: kind = fmt::format("reduction {} {}", reduction_name(op.reduction), dtype_name(op.accumulate)); break;
    case OperationKind::kScan:
      kind = fmt::format("scan {} {} along {}", reduction_name(op.reduction), dtype_name(op.accumulate), op.scan_axis);
      break;
    case OperationKind::kScatter: kind = fmt::format("scatter {}", kScatterNames[static_cast<int>(op.scatter_mode)]); break;
    case OperationKind::kExtern: kind = fmt::format("extern {}{}", op.callee->name, op.writes_planned_output ? " planned" : ""); break;
  }
  std::string space;
  for (size_t k = 0; k < op.axes.size(); ++k) {
    bool is_reduced = static_cast<int>(k) >= op.rank;
    space += k == 0 ? (is_reduced ? "; " : "") : (static_cast<int>(k) == op.rank ? " ; " : ", ");
    space += fmt::format("{} < {}", names(op.axes[k]), names(op.axes[k].extent()));
  }
  std::string outputs;
  for (const Buffer* b : op.outputs) outputs += (outputs.empty() ? "" : ", ") + b->name;
  std::string text = fmt::format("  op {} {} ", op.name, kind);
  if (op.kind != OperationKind::kExtern) text += fmt::format("({}) ", space);
  text += "-> " + outputs;
  if (!op.symbol_outputs.empty()) {
    std::string symbols;
    for (Expr e : op.symbol_outputs) symbols += (symbols.empty() ? "" : ", ") + names(e);
    text += fmt::format("{}symbols {}", outputs.empty() ? "" : " ", symbols);
  }
  return text;
}

std::string buffer_text(const Buffer& b, const Names& names) {
  std::string sizes;
  for (Expr e : b.sizes) sizes += (sizes.empty() ? "" : ", ") + names(e);
  std::string text = fmt::format("  buffer {} : {}[{}]", b.name, dtype_name(b.dtype), sizes);
  if (b.device.type != Device{}.type || b.device.index != 0) text += fmt::format(" on {} {}", b.device.type, b.device.index);
  if (b.kind == BufferKind::kInput) text += " input";
  if (b.kind == BufferKind::kConstant) text += " constant";
  if (b.version_of) text += " version_of " + b.version_of->name;
  switch (b.layout.kind) {
    case LayoutKind::kFlexible: text += " flexible"; break;
    case LayoutKind::kStrided: text += " strides " + names.list(b.layout.strides); break;
  }
  if (b.layout.base) text += " looks_at " + b.layout.base->name;
  if (b.layout.offset && !b.layout.offset.is_integer(0)) text += fmt::format(" offset ({})", names(b.layout.offset));
  if (!b.layout.wanted_order.empty() || b.layout.order_is_binding)
    text += fmt::format(" wants [{}]{}", fmt::join(b.layout.wanted_order, ", "), b.layout.order_is_binding ? " binding" : "");
  if (b.is_promised) text += " promised";
  if (b.is_absent) text += " absent";
  if (b.escapes) text += " escapes";
  return text + "\n";
}

/// As made: the order of terms in expressions follows it.
std::vector<Expr> symbols_of(const LoopProgram& program) {
  std::vector<Expr> symbols;
  auto collect_all = [&](std::span<const Expr> list) {
    for (Expr e : list) collect_size_symbols(e, symbols);
  };
  for (const auto& p : program.parameters)
    if (auto* e = std::get_if<Expr>(&p)) collect_size_symbols(*e, symbols);
  for (const auto& b : program.buffers()) {
    collect_all(b->sizes);
    collect_all(b->layout.strides);
    collect_size_symbols(b->layout.offset, symbols);
  }
  auto collect_argument = [&](auto& self, const ExternArgument& argument) -> void {
    if (auto* e = std::get_if<Expr>(&argument)) collect_size_symbols(*e, symbols);
    if (auto* t = std::get_if<ExternTensor>(&argument)) {
      collect_all(t->sizes);
      collect_all(t->coordinates);
      collect_all(t->required_strides);
    }
    if (auto* list = std::get_if<ExternArgumentList>(&argument))
      for (const auto& a : *list) self(self, a);
  };
  for (const Operation* op : program.operations) {
    collect_all(op->symbol_outputs);
    for (Expr axis : op->axes) collect_size_symbols(axis.extent(), symbols);
    for (const Instr& i : op->body.instrs) {
      collect_size_symbols(i.op == Op::kIndirect ? i.expr.extent() : i.expr, symbols);
      collect_all(i.coordinates);
    }
    collect_all(op->scatter_coordinates);
    for (const auto& a : op->arguments) collect_argument(collect_argument, a);
  }
  for (const auto& o : program.outputs) {
    if (auto* e = std::get_if<Expr>(&o.value)) collect_size_symbols(*e, symbols);
    if (auto* t = std::get_if<ExternTensor>(&o.value)) collect_argument(collect_argument, ExternArgument(*t));
  }
  std::ranges::sort(symbols, {}, &Expr::id);
  return symbols;
}

std::string output_text(const ProgramOutput& output, const Names& names) {
  return std::visit([&](const auto& v) { return argument_text(ExternArgument(v), names); }, output.value);
}

}  // namespace

std::string to_text(const Operation& op) {
  Names names;
  for (size_t k = 0; k < op.axes.size(); ++k) {
    bool is_reduced = static_cast<int>(k) >= op.rank;
    names.map[std::string(op.axes[k].symbol_name())] = is_reduced ? fmt::format("r{}", k - op.rank) : fmt::format("i{}", k);
  }
  std::string text = header_text(op, names);
  if (op.kind == OperationKind::kExtern) {
    std::string arguments;
    for (const auto& a : op.arguments) arguments += (arguments.empty() ? "" : ", ") + argument_text(a, names);
    return text + " (" + arguments + ")\n";
  }
  BodyPrinter printer(names);
  interpret(op.body, printer);
  if (op.kind == OperationKind::kScatter)
    text += fmt::format(" over {} at {}", op.scatter_base ? op.scatter_base->name : "none", names.list(op.scatter_coordinates));
  text += " {\n" + printer.out + "    yield";
  for (size_t k = 0; k < op.body.yields.size(); ++k) text += fmt::format("{} v{}", k ? "," : "", op.body.yields[k]);
  return text + "\n  }\n";
}

std::string to_text(const LoopProgram& program) {
  Names names;
  std::string out = fmt::format("program {}\n", program.name.empty() ? "main" : program.name);
  for (Expr s : symbols_of(program)) out += fmt::format("  symbol {}\n", symbol_declaration(s));
  for (const auto& s : program.schemas()) out += fmt::format("  schema {}\n", schema_text(*s));
  for (const auto& b : program.buffers()) out += buffer_text(*b, names);
  std::string parameters;
  for (const auto& p : program.parameters) {
    const Expr* e = std::get_if<Expr>(&p);
    parameters += (parameters.empty() ? "" : ", ") + (e ? "(" + names(*e) + ")" : "%" + std::get<Buffer*>(p)->name);
  }
  out += fmt::format("  parameters {}\n", parameters);
  for (const Operation* op : program.operations) out += to_text(*op);
  for (const auto& m : program.mutations) out += fmt::format("  mutates {} {}\n", m.input->name, m.last_version->name);
  std::string outputs;
  for (const auto& o : program.outputs) outputs += (outputs.empty() ? "" : ", ") + output_text(o, names);
  return out + fmt::format("  return {}\n", outputs);
}

}  // namespace litz
