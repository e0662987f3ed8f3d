#include "litz/driver/extern_program.h"

#include <algorithm>

#include "litz/support/check.h"
#include "litz/symbolic/bytecode.h"

namespace litz {
namespace {

using namespace runtime;

class Builder {
 public:
  explicit Builder(const Graph& graph) : graph_(graph) {}

  Program build() {
    program_.name = graph_.name;
    add_inputs();
    for (const Node* node : graph_.nodes) node->kind == NodeKind::kConstant ? add_constant(*node) : add_call(*node);
    for (const GraphOutput& output : graph_.outputs) add_output(output);
    program_.slot_count = next_slot_;
    place_numbers();
    return std::move(program_);
  }

 private:
  TableIndex entry(Expr expr) {
    const auto found = std::find(entries_.begin(), entries_.end(), expr);
    if (found != entries_.end()) return static_cast<TableIndex>(found - entries_.begin());
    entries_.push_back(expr);
    return static_cast<TableIndex>(entries_.size() - 1);
  }

  Slot slot(Value value) {
    const auto [found, is_new] = slots_.emplace(value, next_slot_);
    if (is_new) next_slot_++;
    return found->second;
  }

  int32_t device_type(const std::string& type) {
    auto& types = program_.device_types;
    const auto found = std::find(types.begin(), types.end(), type);
    if (found != types.end()) return static_cast<int32_t>(found - types.begin());
    types.push_back(type);
    return static_cast<int32_t>(types.size() - 1);
  }

  void read_symbol(Expr e, SymbolSource source) {
    if (!e || !e.is_symbol() || std::find(symbols_.begin(), symbols_.end(), e) != symbols_.end()) return;
    symbols_.push_back(e);
    program_.symbols.push_back(source);
  }

  void add_inputs() {
    program_.argument_count = static_cast<int32_t>(graph_.inputs.size());
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
      const Node& node = *graph_.inputs[i];
      const auto position = static_cast<int32_t>(i);
      if (node.symbol) {
        program_.argument_slots.push_back(-1);
        read_symbol(node.symbol, {SymbolSource::kScalarArgument, position, 0});
        continue;
      }
      program_.argument_slots.push_back(slot({const_cast<Node*>(&node), 0}));
    }
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
      const Node& node = *graph_.inputs[i];
      if (node.symbol) continue;
      const TensorMeta& meta = node.outputs[0];
      for (size_t d = 0; d < meta.rank(); d++) {
        read_symbol(meta.sizes[d], {SymbolSource::kSize, static_cast<int32_t>(i), static_cast<int32_t>(d)});
        read_symbol(meta.strides[d], {SymbolSource::kStride, static_cast<int32_t>(i), static_cast<int32_t>(d)});
      }
      read_symbol(meta.storage_offset, {SymbolSource::kStorageOffset, static_cast<int32_t>(i), 0});
    }
  }

  void add_constant(const Node& node) {
    program_.constants.push_back(node.name);
    program_.argument_slots.push_back(slot({const_cast<Node*>(&node), 0}));
  }

  ExternArg argument(const Argument& a) {
    if (a.is<None>()) return std::monostate{};
    if (a.is<bool>()) return a.as<bool>();
    if (a.is<int64_t>()) return a.as<int64_t>();
    if (a.is<double>()) return a.as<double>();
    if (a.is<std::complex<double>>()) return ComplexArg{a.as<std::complex<double>>().real(), a.as<std::complex<double>>().imag()};
    if (a.is<Expr>()) return NumberArg{entry(a.as<Expr>())};
    if (a.is<std::string>()) return a.as<std::string>();
    if (a.is<DType>()) return a.as<DType>();
    if (a.is<Device>()) return DeviceId{device_type(a.as<Device>().type), a.as<Device>().index};
    if (a.is<MemoryFormat>()) return MemoryFormatArg{static_cast<int32_t>(a.as<MemoryFormat>())};
    if (a.is<Value>()) return TensorArg{slot(a.as<Value>())};
    ExternArgs list;
    for (const Argument& element : a.as<ArgumentList>()) list.push_back(argument(element));
    return list;
  }

  void add_call(const Node& node) {
    auto& callees = program_.callees;
    const auto known = std::find_if(callees.begin(), callees.end(), [&](const Callee& c) { return c.op == node.op->name; });
    const auto callee = static_cast<int32_t>(known - callees.begin());
    if (known == callees.end()) callees.push_back({node.op->name, node.op->text, node.op->is_mutating, node.op->is_random});
    ExternLine line{callee, {}, {}, {}, {}};
    for (const Argument& a : node.arguments) line.arguments.push_back(argument(a));
    for (size_t i = 0; i < node.outputs.size(); i++) line.results.push_back(slot({const_cast<Node*>(&node), static_cast<int>(i)}));
    for (Expr symbol : node.symbol_outputs) {
      line.number_results.push_back(entry(symbol));
      run_time_symbols_.push_back(symbol);
    }
    const bool defines = !node.symbol_outputs.empty();
    program_.lines.push_back(std::move(line));
    if (defines) program_.lines.push_back(ComputeLine{static_cast<int32_t>(program_.later_tables.size())});
    if (defines) program_.later_tables.emplace_back();
  }

  /// Gives table entries their places: first what the inputs decide, then the numbers that calls give, then, behind each such call,
  /// what follows from it. The table programs that run later read symbols from the table, so every symbol has an entry.
  void place_numbers() {
    for (Expr symbol : symbols_) entry(symbol);
    std::vector<Expr> at_start, placed;
    std::vector<TableIndex> place(entries_.size(), -1);
    auto put = [&](size_t id) {
      place[id] = static_cast<TableIndex>(placed.size());
      placed.push_back(entries_[id]);
    };
    auto is_known = [&](Expr e, const std::vector<Expr>& extra) {
      for (Expr s : free_symbols(e))
        if (std::find(symbols_.begin(), symbols_.end(), s) == symbols_.end() && std::find(extra.begin(), extra.end(), s) == extra.end()) return false;
      return true;
    };
    for (size_t id = 0; id < entries_.size(); id++)
      if (is_known(entries_[id], {})) put(id);
    at_start = placed;
    for (Expr symbol : run_time_symbols_) put(static_cast<size_t>(entry(symbol)));
    std::vector<Expr> known;
    size_t next_symbol = 0;
    std::vector<std::pair<size_t, size_t>> groups;
    for (const Line& line : program_.lines) {
      auto* call = std::get_if<ExternLine>(&line);
      if (!call || call->number_results.empty()) continue;
      for (size_t i = 0; i < call->number_results.size(); i++) known.push_back(run_time_symbols_[next_symbol++]);
      const size_t begin = placed.size();
      for (size_t id = 0; id < entries_.size(); id++)
        if (place[id] < 0 && is_known(entries_[id], known)) put(id);
      groups.emplace_back(begin, placed.size());
    }
    LITZ_CHECK(placed.size() == entries_.size(), "graph {}: a number depends on a symbol that nothing defines", graph_.name);
    std::vector<SymbolSlot> symbol_at;
    for (size_t i = 0; i < placed.size(); i++)
      if (placed[i].is_symbol()) symbol_at.push_back({placed[i], static_cast<uint32_t>(i)});
    program_.table = compile_exprs(at_start, symbols_);
    program_.table_size = static_cast<int32_t>(placed.size());
    for (size_t g = 0; g < groups.size(); g++) {
      const std::vector<Expr> group(placed.begin() + groups[g].first, placed.begin() + groups[g].second);
      program_.later_tables[g] = {compile_exprs(group, symbol_at), static_cast<TableIndex>(groups[g].first)};
    }
    for (Line& line : program_.lines)
      if (auto* call = std::get_if<ExternLine>(&line)) {
        for (ExternArg& a : call->arguments) move_numbers(a, place);
        for (TableIndex& index : call->number_results) index = place[static_cast<size_t>(index)];
      }
    for (OutputSpec& output : program_.outputs)
      if (output.kind == OutputSpec::kInteger) output.index = place[static_cast<size_t>(output.index)];
  }

  static void move_numbers(ExternArg& argument, const std::vector<TableIndex>& place) {
    if (auto* number = std::get_if<NumberArg>(&argument)) number->entry = place[static_cast<size_t>(number->entry)];
    if (auto* list = std::get_if<ExternArgs>(&argument))
      for (ExternArg& element : *list) move_numbers(element, place);
  }

  void add_output(const GraphOutput& output) {
    OutputSpec spec;
    if (auto* v = std::get_if<Value>(&output.value)) {
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), v->node);
      if (input != graph_.inputs.end()) spec = {OutputSpec::kInput, static_cast<int32_t>(input - graph_.inputs.begin()), 0};
      else spec = {OutputSpec::kTensor, slot(*v), 0};
    } else if (auto* e = std::get_if<Expr>(&output.value)) {
      spec = {OutputSpec::kInteger, entry(*e), 0};
    } else if (auto* i = std::get_if<int64_t>(&output.value)) {
      spec = {OutputSpec::kInteger, entry(graph_.context->integer(*i)), 0};
    } else if (auto* d = std::get_if<double>(&output.value)) {
      spec = {OutputSpec::kFloat, 0, *d};
    } else if (auto* b = std::get_if<bool>(&output.value)) {
      spec = {OutputSpec::kBool, 0, *b ? 1.0 : 0.0};
    }
    program_.outputs.push_back(spec);
  }

  const Graph& graph_;
  Program program_;
  std::vector<Expr> entries_, symbols_;  // numbers of the program; symbols that arguments give
  std::vector<Expr> run_time_symbols_;   // in the order of the calls that give them
  std::unordered_map<Value, Slot, ValueHash> slots_;
  Slot next_slot_ = 0;
};

}  // namespace

runtime::Program make_extern_program(const Graph& graph) { return Builder(graph).build(); }

}  // namespace litz
