#include "litz/decompose/functionalize_writes.h"

#include <algorithm>

#include "litz/decompose/decompose.h"
#include "litz/graph/ops.h"

namespace litz {
namespace {

constexpr std::string_view kCopy = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";

/// "aten::add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)" -> "aten::add.Tensor(Tensor self, ...) -> Tensor"; empty where the op writes
/// something else than its first argument.
std::string functional_schema(const OpSchema& op) {
  const std::string& text = op.text;
  const size_t open = text.find('(');
  const size_t dot = std::min(text.find('.'), open);
  if (dot == 0 || text[dot - 1] != '_' || (dot > 1 && text[dot - 2] == '_')) return {};
  if (!text.ends_with("-> Tensor(a!)") || !text.substr(open).starts_with("(Tensor(a!) self")) return {};
  std::string made = text.substr(0, dot - 1) + text.substr(dot);
  for (int k = 0; k < 2; ++k) {
    const size_t at = made.find("(a!)");
    if (at == std::string::npos) return {};
    made.erase(at, 4);
  }
  return made.find('!') == std::string::npos ? made : std::string();
}

/// The elements of an expanded tensor lie on each other: eager refuses to write it.
bool overlaps_itself(const TensorMeta& meta) {
  for (size_t d = 0; d < meta.rank(); ++d)
    if (meta.strides[d].is_integer(0) && !meta.sizes[d].is_integer(1)) return true;
  return false;
}

/// Ops that give truth values whatever they compare; written in place they are converted to the tensor's type.
bool gives_truth_values(std::string_view functional) {
  constexpr std::string_view kOps[] = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not"};
  functional.remove_prefix(std::string_view("aten.").size());
  const std::string_view stem = functional.substr(0, functional.find('.'));
  return std::ranges::find(kOps, stem) != std::end(kOps);
}

class Functionalizer {
 public:
  explicit Functionalizer(Graph& graph) : graph_(graph) {}

  bool run() {
    GraphBuilder builder(graph_, nodes_);
    return rewrite_nodes(graph_, nodes_,
                         [&](Node& n) { return n.kind == NodeKind::kCall && n.op->is_mutating ? replace(builder, n) : Value{}; });
  }

 private:
  /// The tensor after the write; null where the op stays as it is.
  Value replace(GraphBuilder& builder, Node& n) {
    if (n.op->is_random || n.op->has_effect || n.op_name() == "aten.copy_" || n.outputs.size() != 1 || !n.arguments[0].is<Value>())
      return {};
    const Value self = n.arguments[0].as<Value>();
    if (overlaps_itself(self.meta()) || self.meta().sizes != n.outputs[0].sizes) return {};
    builder.set_origin(n.source, n.name);
    const TensorMeta& meta = self.meta();
    if (n.op_name() == "aten.zero_") return write(builder, n, builder.full(meta.sizes, int64_t{0}, meta.dtype, meta.device));
    if (n.op_name() == "aten.fill_.Scalar") return write(builder, n, builder.full(meta.sizes, n.arguments[1], meta.dtype, meta.device));
    if (n.op_name() == "aten.fill_.Tensor") return write(builder, n, n.arguments[1].as<Value>());
    const std::string text = functional_schema(*n.op);
    if (text.empty()) return {};
    const OpSchema* op = graph_.schema(text);
    const bool is_primitive = find_primitive(op->name) != nullptr;
    if (op->is_view || op->is_random || (!is_primitive && !find_decomposition(op->name))) return {};
    if (is_primitive) return write(builder, n, builder.call(op->name, n.arguments));
    TensorMeta fresh = meta;
    if (gives_truth_values(op->name)) fresh.dtype = DType::kBool;
    fresh.storage_offset = Expr();
    fresh.strides = contiguous_strides(*graph_.context, meta.sizes);
    return write(builder, n, builder.foreign(op, n.arguments, {std::move(fresh)})->value());
  }

  Value write(GraphBuilder& builder, Node& n, Value computed) {
    return builder.foreign(graph_.schema(kCopy), {n.arguments[0], computed, false}, {n.outputs[0]})->value();
  }

  Graph& graph_;
  std::vector<Node*> nodes_;
};

}  // namespace

bool functionalize_writes(Graph& graph) { return Functionalizer(graph).run(); }

}  // namespace litz
