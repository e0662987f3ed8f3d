#include "litz/loop/dependences.h"

#include <algorithm>

namespace litz {

namespace {

bool has_indirect(std::span<const Expr> coordinates) {
  for (Expr e : coordinates)
    for (Expr s : free_symbols(e))
      if (s.symbol_kind() == SymbolKind::kIndirect) return true;
  return false;
}

struct Collector {
  Dependences result;

  void add_symbols(Expr e) {
    if (!e || e.is_integer()) return;
    for (Expr s : free_symbols(e)) {
      bool is_free = s.symbol_kind() == SymbolKind::kSize || s.symbol_kind() == SymbolKind::kUnbacked;
      if (is_free && std::find(result.symbols.begin(), result.symbols.end(), s) == result.symbols.end()) result.symbols.push_back(s);
    }
  }
  void add(std::vector<Access>& list, Access access) {
    access.is_indirect = has_indirect(access.coordinates);
    for (Expr e : access.coordinates) add_symbols(e);
    if (std::find(list.begin(), list.end(), access) == list.end()) list.push_back(std::move(access));
  }
  void add_argument(const ExternArgument& argument) {
    if (auto* e = std::get_if<Expr>(&argument)) add_symbols(*e);
    if (auto* list = std::get_if<ExternArgumentList>(&argument))
      for (const auto& a : *list) add_argument(a);
    if (auto* t = std::get_if<ExternTensor>(&argument)) {
      for (Expr e : t->sizes) add_symbols(e);
      add(result.reads, Access{t->buffer, t->coordinates, t->axes, false, false});
    }
  }
};

}  // namespace

Dependences dependences(const Operation& operation) {
  Collector c;
  for (const ExternArgument& argument : operation.arguments) c.add_argument(argument);
  for (const Instr& i : operation.body.instrs) {
    c.add_symbols(i.expr);
    if (i.op == Op::kLoad) c.add(c.result.reads, Access{i.buffer, i.coordinates, {}, i.operands[0] != kNoValue, false});
  }
  for (Expr axis : operation.axes) c.add_symbols(axis.extent());
  if (operation.kind == OperationKind::kScatter && operation.scatter_base)
    c.add(c.result.reads, Access{operation.scatter_base, operation.scatter_coordinates, {}, false, false});
  std::vector<Expr> index(operation.axes.begin(), operation.axes.begin() + operation.rank);
  for (Buffer* output : operation.outputs) {
    if (operation.kind == OperationKind::kScatter) {
      c.add(c.result.writes, Access{output, operation.scatter_coordinates, {}, false, false});
    } else if (operation.kind == OperationKind::kExtern) {
      ExternTensor t = output->sizes.empty() ? ExternTensor{} : whole(output->sizes[0].context(), output);
      c.add(c.result.writes, Access{output, t.coordinates, t.axes, false, false});
    } else {
      c.add(c.result.writes, Access{output, index, {}, false, false});
    }
  }
  return c.result;
}

}  // namespace litz
