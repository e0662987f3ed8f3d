#include <unordered_set>

#include "litz/graph/argument.h"
#include "litz/graph/graph.h"
#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

bool element_fits(const SchemaArgument& type, const Argument& a) {
  switch (type.type) {
    case ArgType::kTensor:  // a number in place of a tensor is PyTorch's wrapped number
      if (a.is<Value>()) return true;
      [[fallthrough]];
    case ArgType::kScalar: return a.is<int64_t>() || a.is<double>() || a.is<bool>() || a.is<std::complex<double>>() || a.is<Expr>();
    case ArgType::kInt:
    case ArgType::kSymInt: return a.is<int64_t>() || a.is<Expr>();
    case ArgType::kFloat: return a.is<double>() || a.is<Expr>();
    case ArgType::kBool: return a.is<bool>();
    case ArgType::kComplex: return a.is<std::complex<double>>() || a.is<double>();
    case ArgType::kString:
    case ArgType::kLayout: return a.is<std::string>();
    case ArgType::kDType: return a.is<DType>();
    case ArgType::kDevice: return a.is<Device>();
    case ArgType::kMemoryFormat: return a.is<MemoryFormat>();
    case ArgType::kGenerator: return false;  // only None
    case ArgType::kOther: return true;
  }
  return false;
}

bool fits(const SchemaArgument& type, const Argument& a) {
  // torch takes None for any tensor (an undefined one), and backward ops are called so whatever their signature says.
  if (a.is<None>()) return type.is_optional || type.type == ArgType::kOther || (type.type == ArgType::kTensor && !type.is_list);
  if (!type.is_list) return element_fits(type, a);
  if (type.type == ArgType::kOther) return true;
  if (!a.is<ArgumentList>()) return false;
  for (const Argument& element : a.as<ArgumentList>())
    if (!(element.is<None>() ? type.has_optional_elements : element_fits(type, element))) return false;
  return true;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (const Node* n : graph_.inputs) {
      current_ = n;
      expect(n->kind == NodeKind::kInput, "a graph input is no input node");
      expect(n->symbol ? n->outputs.empty() : n->outputs.size() == 1, "an input is a size or one tensor");
      introduce(n->symbol);
      define(*n);
    }
    for (const Node* n : graph_.nodes) {
      current_ = n;
      if (n->kind == NodeKind::kConstant) {
        expect(n->outputs.size() == 1, "a constant has one tensor");
      } else {
        expect(n->kind == NodeKind::kCall, "an input among the nodes");
        verify_call(*n);
      }
      define(*n);
    }
    current_ = nullptr;
    for (const GraphOutput& o : graph_.outputs) {
      if (auto* v = std::get_if<Value>(&o.value)) use(*v);
      if (auto* e = std::get_if<Expr>(&o.value)) use(*e);
    }
  }

 private:
  template <typename... Args>
  void expect(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    LITZ_CHECK(condition, "graph {}: {}{}", graph_.name, fmt::format(format, std::forward<Args>(args)...),
               current_ ? fmt::format(", at %{}{}", current_->name, current_->op ? " = " + current_->op->name : "") : "");
  }

  void use(Value v) {
    expect(static_cast<bool>(v), "a null value is used");
    expect(defined_.contains(v.node), "{} is used before its definition", value_text(v));
    expect(v.output >= 0 && v.output < static_cast<int>(v.node->outputs.size()), "%{} has {} tensor results, result {} is used",
           v.node->name, v.node->outputs.size(), v.output);
    expect(!v.meta().is_none, "{} is None and is used", value_text(v));
  }

  void use(Expr e) {
    expect(static_cast<bool>(e), "a null expression");
    expect(&e.context() == graph_.context.get(), "the expression {} belongs to another graph", to_string(e));
    if (e.is_integer()) return;
    for (Expr s : free_symbols(e)) {
      if (symbols_.contains(s)) continue;
      const Definition* definition = definition_of(s);
      expect(definition != nullptr, "the symbol {} is used before it is known", to_string(s));
      for (const Definition::Step& step : definition->steps)
        if (step.expr) use(step.expr);
    }
  }

  void use(const Argument& a) {
    if (a.is<Value>()) use(a.as<Value>());
    if (a.is<Expr>()) use(a.as<Expr>());
    if (a.is<ArgumentList>())
      for (const Argument& element : a.as<ArgumentList>()) use(element);
  }

  /// A node's results may bring new symbols: those of an input's sizes, those known only when an op has run.
  void introduce(Expr e) {
    if (!e || e.is_integer()) return;
    for (Expr s : free_symbols(e)) {
      const bool may_define = current_->kind != NodeKind::kCall || (s.symbol_kind() == SymbolKind::kUnbacked && !definition_of(s));
      if (may_define) symbols_.insert(s);
    }
    use(e);
  }

  void verify_call(const Node& n) {
    expect(n.op != nullptr, "a call without an op");
    expect(n.arguments.size() == n.op->arguments.size(), "{} arguments, expected {} as in \"{}\"", n.arguments.size(),
           n.op->arguments.size(), n.op->text);
    for (size_t i = 0; i < n.arguments.size(); ++i) {
      expect(fits(n.op->arguments[i], n.arguments[i]), "argument '{}' is {}, expected {}", n.op->arguments[i].name,
             argument_text(n.arguments[i]), n.op->arguments[i].type_text);
      use(n.arguments[i]);
    }
    bool has_list = false;
    for (const auto& r : n.op->returns) has_list |= r.is_list || r.type == ArgType::kOther;
    const size_t results = n.outputs.size() + n.symbol_outputs.size();
    expect(has_list || results == n.op->returns.size(), "{} results, expected {} as in \"{}\"", results, n.op->returns.size(), n.op->text);
  }

  void define(const Node& n) {
    expect(defined_.insert(&n).second, "the node stands twice in the graph");
    expect(names_.insert(n.name).second, "two nodes have one name");
    for (const TensorMeta& m : n.outputs) {
      if (m.is_none) continue;
      expect(m.sizes.size() == m.strides.size(), "{} sizes and {} strides", m.sizes.size(), m.strides.size());
      for (Expr e : m.sizes) introduce_checked(e);
      for (Expr e : m.strides) introduce_checked(e);
      introduce(m.storage_offset);
    }
    for (Expr e : n.symbol_outputs) introduce_checked(e);
  }

  void introduce_checked(Expr e) {
    expect(static_cast<bool>(e), "a result's size or stride is missing");
    introduce(e);
  }

  const Graph& graph_;
  const Node* current_ = nullptr;
  std::unordered_set<const Node*> defined_;
  std::unordered_set<std::string> names_;
  std::unordered_set<Expr> symbols_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace litz
