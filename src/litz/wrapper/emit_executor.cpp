#include "litz/wrapper/emit_executor.h"

#include <algorithm>
#include <unordered_map>

#include "litz/support/check.h"
#include "litz/symbolic/bytecode.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

using namespace runtime;

class Emitter {
 public:
  explicit Emitter(const WrapperProgram& wrapper) : wrapper_(wrapper) { program_.name = wrapper.name; }

  Program run() {
    program_.slot_count = static_cast<int32_t>(wrapper_.tensors.size());
    declare_arguments();
    for (const auto& kernel : wrapper_.kernels) {
      runtime::Kernel k;
      k.name = kernel.name;
      if (kernel.compiled.launch) k.object = kernel.compiled.function;
      else k.function = reinterpret_cast<KernelFunction>(kernel.compiled.function);
      k.launch = kernel.compiled.launch;
      k.owner = kernel.compiled.owner;
      first_message_.push_back(static_cast<int32_t>(program_.messages.size()));
      program_.messages.insert(program_.messages.end(), kernel.messages.begin(), kernel.messages.end());
      program_.kernels.push_back(std::move(k));
    }
    for (const auto& line : wrapper_.lines) std::visit([&](const auto& l) { emit(l); }, line);
    for (const auto& output : wrapper_.outputs) emit_output(output);
    finish_tables();
    return std::move(program_);
  }

 private:
  void declare_arguments() {
    int32_t position = 0;
    for (const auto& in : wrapper_.inputs) {
      program_.argument_slots.push_back(in.tensor);
      if (in.tensor < 0 && in.number.is_symbol()) define(in.number, {SymbolSource::kScalarArgument, position, 0});
      ++position;
    }
    program_.argument_count = position;
    // Symbols that arrive only as a size or stride of a tensor.
    position = 0;
    for (const auto& in : wrapper_.inputs) {
      if (in.tensor >= 0) {
        const WrapperTensor& t = wrapper_.tensors[in.tensor];
        for (size_t d = 0; d < t.sizes.size(); ++d) define(t.sizes[d], {SymbolSource::kSize, position, static_cast<int32_t>(d)});
        for (size_t d = 0; d < t.strides.size(); ++d) define(t.strides[d], {SymbolSource::kStride, position, static_cast<int32_t>(d)});
        if (t.offset) define(t.offset, {SymbolSource::kStorageOffset, position, 0});
      }
      ++position;
    }
    program_.constants = wrapper_.constants;
    program_.argument_slots.insert(program_.argument_slots.end(), wrapper_.constant_tensors.begin(), wrapper_.constant_tensors.end());
  }

  void define(Expr symbol, SymbolSource source) {
    if (!symbol.is_symbol() || slot_of_.contains(symbol)) return;
    slot_of_.emplace(symbol, static_cast<int32_t>(symbols_.size()));
    symbols_.push_back(symbol);
    program_.symbols.push_back(source);
  }

  TableIndex entry(Expr e) {
    auto [it, fresh] = entries_.emplace(e, static_cast<TableIndex>(table_.size()));
    if (fresh) table_.push_back(e);
    return it->second;
  }

  std::vector<TableIndex> entries(const std::vector<Expr>& exprs) {
    std::vector<TableIndex> out;
    for (Expr e : exprs) out.push_back(entry(e));
    return out;
  }

  DeviceId device(const Device& d) {
    auto it = std::find(program_.device_types.begin(), program_.device_types.end(), d.type);
    if (it == program_.device_types.end()) it = program_.device_types.insert(it, d.type);
    return {static_cast<int32_t>(it - program_.device_types.begin()), d.index};
  }

  /// As an op gets it: tensors of the host that were made for "cpu:0" are not on "cpu" to PyTorch.
  DeviceId argument_device(const Device& d) {
    DeviceId id = device(d);
    if (d.type == Device{}.type) id.index = -1;
    return id;
  }

  int32_t spec(const WrapperTensor& t) {
    program_.specs.push_back({t.dtype, device(t.device), entries(t.sizes), entries(t.strides)});
    return static_cast<int32_t>(program_.specs.size()) - 1;
  }

  Expr start(TensorId id) const {
    const WrapperTensor& t = tensor(id);
    return t.offset ? t.offset : wrapper_.context->integer(0);
  }

  const WrapperTensor& tensor(TensorId id) const { return wrapper_.tensors[id]; }

  void emit(const litz::CommentLine&) {}
  void emit(const AllocateLine& l) { program_.lines.push_back(AllocLine{l.tensor, spec(tensor(l.tensor))}); }
  void emit(const litz::DataLine& l) {
    const HostTensor& data = wrapper_.data[static_cast<size_t>(l.data)];
    program_.lines.push_back(runtime::DataLine{l.tensor, static_cast<int32_t>(program_.data.size()), spec(tensor(l.tensor))});
    program_.data.emplace_back(data.data, data.data + data.numel() * dtype_bytes(data.dtype));
  }
  void emit(const litz::ArenaLine& l) {
    if (static_cast<size_t>(l.arena) >= arena_slots_.size()) arena_slots_.resize(l.arena + 1, -1);
    arena_slots_[l.arena] = program_.slot_count++;
    program_.lines.push_back(runtime::ArenaLine{arena_slots_[l.arena], entry(l.bytes), device(l.device)});
  }
  void emit(const PlaceLine& l) {
    program_.lines.push_back(ArenaViewLine{l.tensor, arena_slots_[l.arena], entry(l.byte_offset), spec(tensor(l.tensor))});
  }
  void emit(const ReinterpretLine& l) {
    const WrapperTensor& t = tensor(l.tensor);
    program_.lines.push_back(ViewLine{l.tensor, l.base, entry(start(l.tensor) - start(l.base)), spec(t)});
  }
  void emit(const litz::FreeLine& l) { program_.lines.push_back(runtime::FreeLine{l.tensor}); }
  void emit(const KernelCallLine& l) {
    KernelLine line;
    line.kernel = l.kernel;
    line.tensors = l.tensors;
    line.numbers = entries(l.numbers);
    line.range = entry(l.range);
    line.grain = entry(l.grain);
    line.scratch_bytes = l.scratch_bytes ? entry(l.scratch_bytes) : -1;
    line.reports_errors = wrapper_.kernels[l.kernel].reports_errors;
    line.first_message = first_message_[l.kernel];
    if (!l.tensors.empty()) line.device_index = tensor(l.tensors[0]).device.index;
    program_.lines.push_back(std::move(line));
  }

  ExternArg argument(const WrapperArgument& a) {
    return std::visit(
        [&](const auto& v) -> ExternArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, None>) return std::monostate{};
          else if constexpr (std::is_same_v<T, Expr>) return NumberArg{entry(v), is_float(v)};
          else if constexpr (std::is_same_v<T, std::complex<double>>) return ComplexArg{v.real(), v.imag()};
          else if constexpr (std::is_same_v<T, Device>) return argument_device(v);
          else if constexpr (std::is_same_v<T, MemoryFormat>) return MemoryFormatArg{static_cast<int32_t>(v)};  // PyTorch's numbers
          else if constexpr (std::is_same_v<T, TensorRef>) return TensorArg{v.id};
          else if constexpr (std::is_same_v<T, WrapperArgumentList>) {
            ExternArgs out;
            for (const auto& e : v) out.push_back(argument(e));
            return out;
          } else return v;
        },
        static_cast<const WrapperArgument::variant&>(a));
  }

  /// What an op decides while it runs is not there yet when its result is compared with a plan.
  static bool is_sized_by_run(const WrapperTensor& t) {
    auto is_late = [](Expr e) {
      const auto symbols = free_symbols(e);
      return std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.symbol_kind() == SymbolKind::kUnbacked; });
    };
    return std::any_of(t.sizes.begin(), t.sizes.end(), is_late) || std::any_of(t.strides.begin(), t.strides.end(), is_late);
  }

  /// Of the result, or of the tensor that the call writes: its last argument.
  DType type_of_product(const ExternCallLine& l) const {
    const auto* out = std::get_if<TensorRef>(&l.arguments.back());
    return tensor(l.results[0] >= 0 || !out ? l.results[0] : out->id).dtype;
  }

  void emit(const ExternCallLine& l) {
    ExternLine line;
    const auto known =
        std::find_if(program_.callees.begin(), program_.callees.end(), [&](const Callee& c) { return c.schema == l.callee->text; });
    line.callee = static_cast<int32_t>(known - program_.callees.begin());
    if (known == program_.callees.end())
      program_.callees.push_back({l.callee->name, l.callee->text, l.callee->is_mutating, l.callee->is_random});
    for (const auto& a : l.arguments) line.arguments.push_back(argument(a));
    line.results = l.results;
    if (l.in_float32) line.widened_from = type_of_product(l);
    for (TensorId t : l.results) line.result_specs.push_back(t < 0 || is_sized_by_run(tensor(t)) ? -1 : spec(tensor(t)));
    for (Expr s : l.number_results) line.number_results.push_back(run_time_entry(s));
    program_.lines.push_back(std::move(line));
    for (Expr s : l.number_results) check_range(s);
    bool has_numbers = !l.number_results.empty();
    for (TensorId t : l.results) has_numbers |= t >= 0 && read_sizes(t);
    if (has_numbers) compute_later();
  }
  /// Sizes of a result that only the run knows (of nonzero, unique) are read from it.
  bool read_sizes(TensorId t) {
    bool any = false;
    for (size_t d = 0; d < tensor(t).sizes.size(); ++d) {
      const Expr size = tensor(t).sizes[d];
      if (!size.is_symbol() || size.symbol_kind() != SymbolKind::kUnbacked || definition_of(size) ||
          std::find(late_.begin(), late_.end(), size) != late_.end())
        continue;
      program_.lines.push_back(runtime::ReadNumberLine{runtime::ReadNumberLine::kSize, run_time_entry(size), t, static_cast<int32_t>(d)});
      check_range(size, 0);
      any = true;
    }
    return any;
  }
  void emit(const litz::ReadNumberLine& l) {
    program_.lines.push_back(
        runtime::ReadNumberLine{static_cast<runtime::ReadNumberLine::Kind>(l.kind), run_time_entry(l.symbol), l.tensor, l.dimension});
    check_range(l.symbol, 0);
    compute_later();
  }
  void emit(const litz::AssertLine& l) {
    program_.messages.push_back(l.message);
    program_.lines.push_back(runtime::AssertLine{entry(l.condition), static_cast<int32_t>(program_.messages.size()) - 1});
  }
  void emit(const litz::CopyLine& l) { program_.lines.push_back(runtime::CopyLine{l.destination, l.source}); }

  /// A table entry that a line fills in while the program runs.
  TableIndex run_time_entry(Expr symbol) {
    late_.push_back(symbol);
    return entry(symbol);
  }
  /// Whatever was proved from a symbol's range stands only if the run's number lies in it. `least`: what the number can be at all.
  void check_range(Expr symbol, int64_t least = -kIntInf) {
    const ValueRange range = symbol.range();
    if (range.lower <= least && range.upper == kIntInf) return;
    program_.messages.emplace_back(symbol.symbol_name());
    program_.lines.push_back(
        runtime::CheckRangeLine{entry(symbol), range.lower, range.upper, static_cast<int32_t>(program_.messages.size()) - 1});
  }
  void compute_later() { program_.lines.push_back(ComputeLine{static_cast<int32_t>(compute_count_++)}); }

  void emit_output(const WrapperOutput& o) {
    OutputSpec out;
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, TensorRef>) out.kind = OutputSpec::kTensor, out.index = v.id;
          else if constexpr (std::is_same_v<T, WrapperOutput::Input>) out.kind = OutputSpec::kInput, out.index = v.position;
          else if constexpr (std::is_same_v<T, Expr>)
            out.kind = is_float(v) ? OutputSpec::kComputedFloat : OutputSpec::kInteger, out.index = entry(v);
          else if constexpr (std::is_same_v<T, int64_t>) out.kind = OutputSpec::kInteger, out.index = entry(wrapper_.context->integer(v));
          else if constexpr (std::is_same_v<T, double>) out.kind = OutputSpec::kFloat, out.number = v;
          else if constexpr (std::is_same_v<T, bool>) out.kind = OutputSpec::kBool, out.number = v;
        },
        o.value);
    program_.outputs.push_back(out);
  }

  /// Entries without run-time symbols are computed when the call begins; the others after each line that gives one.
  void finish_tables() {
    if (!late_.empty())
      for (Expr s : symbols_) entry(s);  // later programs read symbols from the table
    std::vector<Expr> early, late;
    std::vector<uint32_t> early_at, late_at;
    std::vector<SymbolSlot> early_slots, late_slots;
    for (size_t k = 0; k < symbols_.size(); ++k) early_slots.push_back({symbols_[k], static_cast<uint32_t>(k)});
    for (uint32_t k = 0; k < table_.size(); ++k) {
      const bool is_late = std::any_of(late_.begin(), late_.end(), [&](Expr s) { return depends_on(table_[k], s); });
      const bool is_given = table_[k].is_symbol() && (!is_late || !definition_of(table_[k]));
      if (is_given) late_slots.push_back({table_[k], k});
      if (is_late && is_given) continue;  // its line fills it in
      (is_late ? late : early).push_back(table_[k]);
      (is_late ? late_at : early_at).push_back(k);
    }
    program_.table_size = static_cast<int32_t>(table_.size());
    program_.table = compile_exprs(early, early_slots, early_at);
    for (size_t k = 0; k < compute_count_; ++k) {
      LaterTable later;
      later.program = compile_exprs(late, late_slots, late_at);
      program_.later_tables.push_back(std::move(later));
    }
  }

  const WrapperProgram& wrapper_;
  Program program_;
  std::unordered_map<Expr, int32_t> slot_of_;
  std::vector<Expr> symbols_;
  std::unordered_map<Expr, TableIndex> entries_;
  std::vector<Expr> table_;
  std::vector<Expr> late_;
  size_t compute_count_ = 0;
  std::vector<int32_t> first_message_;
  std::vector<Slot> arena_slots_;
};

}  // namespace

Program emit_executor(const WrapperProgram& wrapper) { return Emitter(wrapper).run(); }

}  // namespace litz
