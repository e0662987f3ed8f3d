#include "litz/loop/reference_interpreter.h"

#include <algorithm>
#include <cmath>

#include "litz/loop/interpret.h"

namespace litz {

namespace {

using Values = std::unordered_map<Expr, int64_t>;

/// Evaluates a body at one point.
struct PointEvaluator : UniformHandler<PointEvaluator, Scalar> {
  Values& symbols;
  const std::unordered_map<const Buffer*, HostTensor>& memory;
  std::vector<int64_t> at;

  PointEvaluator(Values& symbols, const std::unordered_map<const Buffer*, HostTensor>& memory) : symbols(symbols), memory(memory) {}

  Scalar constant(const Instr& i) { return scalar_of(i.dtype, i.number); }
  Scalar index_expr(const Instr& i) { return scalar_of(i.dtype, evaluate(i.expr, symbols)); }
  Scalar load(const Instr& i, const Scalar* predicate) {
    if (predicate && predicate->is_zero()) return Scalar{i.dtype};
    const HostTensor& t = memory.at(i.buffer);
    at.clear();
    for (size_t d = 0; d < i.coordinates.size(); ++d) {
      at.push_back(evaluate(i.coordinates[d], symbols));
      LITZ_CHECK(at[d] >= 0 && at[d] < t.sizes[d], "load of {}: coordinate {} is {}, size {}", i.buffer->name, d, at[d], t.sizes[d]);
    }
    return t.at(at);
  }
  Scalar indirect(const Instr& i, const Scalar& v) {
    symbols[i.expr] = v.integer;
    return v;
  }
  Scalar check_index(const Instr& i, const Scalar& v, const Scalar* predicate) {
    if (predicate && predicate->is_zero()) return v;
    int64_t extent = evaluate(i.expr, symbols), index = v.integer;
    bool is_inside = dtype_category(v.dtype) == DTypeCategory::kUnsigned ? static_cast<uint64_t>(index) < static_cast<uint64_t>(extent)
                                                                         : index >= -extent && index < extent;
    if (!is_inside)
      user_error("IndexError: {}",
                 i.message.empty() ? fmt::format("index {} is out of bounds for dimension with size {}", index, extent) : i.message);
    return scalar_of(v.dtype, index < 0 ? index + extent : index);
  }
  Scalar assert_true(const Instr& i, const Scalar& v) {
    if (v.is_zero()) user_error("RuntimeError: {}", i.message);
    return v;
  }
  Scalar random_uint(const Instr&, const Scalar& seed, const Scalar& offset) {
    return scalar_of(DType::kUInt32, static_cast<int64_t>(philox_uint(seed.integer, offset.integer)));
  }
  Scalar apply(const Instr& i, std::initializer_list<Scalar> operands) { return evaluate(i.op, i.dtype, operands); }
  using Base = UniformHandler<PointEvaluator, Scalar>;
  static Scalar evaluate(Op op, DType dtype, std::initializer_list<Scalar> operands) {
    return litz::evaluate(op, dtype, std::span(operands.begin(), operands.size()));
  }
  static int64_t evaluate(Expr e, const Values& v) { return litz::evaluate(e, v); }
};

/// What a reduction or scan holds between elements. Floats are kept in double; the integer type wraps.
class Accumulator {
 public:
  Accumulator(const Operation& op) : kind_(op.reduction), dtype_(op.accumulate), is_scan_(op.kind == OperationKind::kScan) {
    best_ = scalar_of(dtype_, reduction_identity(kind_, dtype_));
    total_ = best_.real;
    integer_ = best_.integer;
    maximum_ = -INFINITY;
  }

  void add(std::span<const Scalar> in) {
    Scalar v = convert(in[0], dtype_);
    switch (kind_) {
      case ReductionKind::kSum:
        total_ += v.real;
        integer_ = evaluate(Op::kAdd, dtype_, std::array{scalar_of(dtype_, integer_), v}).integer;
        break;
      case ReductionKind::kProd:
        total_ *= v.real;
        integer_ = evaluate(Op::kMul, dtype_, std::array{scalar_of(dtype_, integer_), v}).integer;
        break;
      case ReductionKind::kMin: best_ = evaluate(Op::kMinimum, dtype_, std::array{best_, v}); break;
      case ReductionKind::kMax: best_ = evaluate(Op::kMaximum, dtype_, std::array{best_, v}); break;
      case ReductionKind::kAny: integer_ |= !v.is_zero(); break;
      case ReductionKind::kAll: integer_ &= !v.is_zero(); break;
      case ReductionKind::kXorSum: integer_ ^= v.integer; break;
      case ReductionKind::kArgMin:
      case ReductionKind::kArgMax:
      case ReductionKind::kMinWithIndex:
      case ReductionKind::kMaxWithIndex: keep_better(v, in[1].integer); break;
      case ReductionKind::kSort:
      case ReductionKind::kSortDescending: LITZ_CHECK(false, "sorts look at whole rows"); break;
      case ReductionKind::kWelford: {
        ++count_;
        double delta = v.real - mean_;
        mean_ += delta / static_cast<double>(count_);
        m2_ += delta * (v.real - mean_);
        break;
      }
      case ReductionKind::kLogSumExp:
        // Rescale to the new maximum; infinities stand for themselves.
        if (std::isnan(v.real) || std::isnan(maximum_)) maximum_ = NAN;
        else if (v.real > maximum_) {
          sum_ = std::isinf(maximum_) && maximum_ < 0 ? 0 : sum_ * std::exp(maximum_ - v.real);
          maximum_ = v.real;
        }
        if (!std::isinf(maximum_)) sum_ += std::exp(v.real - maximum_);
        else if (v.real == maximum_ && maximum_ > 0) sum_ = INFINITY;
        break;
    }
  }

  std::vector<Scalar> finish() const {
    auto real = [&](double v) { return scalar_of(dtype_, v); };
    switch (kind_) {
      case ReductionKind::kSum:
      case ReductionKind::kProd: return {is_floating(dtype_) ? real(total_) : scalar_of(dtype_, integer_)};
      case ReductionKind::kMin:
      case ReductionKind::kMax: return {best_};
      case ReductionKind::kAny:
      case ReductionKind::kAll:
      case ReductionKind::kXorSum: return {scalar_of(dtype_, integer_)};
      case ReductionKind::kArgMin:
      case ReductionKind::kArgMax: return {scalar_of(DType::kInt64, index_)};
      case ReductionKind::kMinWithIndex:
      case ReductionKind::kMaxWithIndex:
      case ReductionKind::kSort:
      case ReductionKind::kSortDescending: return {best_, scalar_of(DType::kInt64, index_)};
      case ReductionKind::kWelford: return {real(mean_), real(m2_)};
      case ReductionKind::kLogSumExp: {
        double shift = std::isinf(maximum_) ? 0 : maximum_;
        if (is_scan_) return {real(std::isinf(maximum_) ? maximum_ : maximum_ + std::log(sum_))};
        return {real(shift), real(sum_)};
      }
    }
    return {};
  }

 private:
  void keep_better(const Scalar& v, int64_t index) {
    bool is_max = kind_ == ReductionKind::kArgMax || kind_ == ReductionKind::kMaxWithIndex;
    bool v_nan = std::isnan(v.real), best_nan = std::isnan(best_.real);
    bool is_better = evaluate(is_max ? Op::kGt : Op::kLt, dtype_, std::array{v, best_}).integer != 0;
    bool is_tie = (v_nan && best_nan) || evaluate(Op::kEq, dtype_, std::array{v, best_}).integer != 0;
    bool wins =
        index_ == kNoIndex || (v_nan && !best_nan) || (!best_nan && is_better) || (is_tie && (is_scan_ ? index > index_ : index < index_));
    if (!wins) return;
    best_ = v;
    index_ = index;
  }

  ReductionKind kind_;
  DType dtype_;
  bool is_scan_;
  Scalar best_;
  double total_ = 0;
  int64_t integer_ = 0, index_ = kNoIndex, count_ = 0;
  double mean_ = 0, m2_ = 0, maximum_ = 0, sum_ = 0;
};

class Machine {
 public:
  Machine(const LoopProgram& program, const ExternRunner& externs) : program_(program), externs_(externs) {}

  ReferenceOutputs run(const ReferenceInputs& inputs) {
    bind(inputs);
    for (const Operation* op : program_.operations) run_operation(*op);
    ReferenceOutputs result;
    for (const auto& o : program_.outputs)
      result.outputs.push_back(std::visit([&](const auto& v) { return host_argument(ExternArgument(v)); }, o.value));
    for (const auto& m : program_.mutations)
      for (size_t k = 0; k < program_.parameters.size(); ++k)
        if (auto* b = std::get_if<Buffer*>(&program_.parameters[k]); b && *b == m.input)
          result.mutations.emplace_back(k, memory_.at(m.last_version).copy());
    return result;
  }

 private:
  void bind_size(Expr size, int64_t value, std::string_view what) {
    if (size.is_symbol()) {
      auto [it, is_new] = symbols_.emplace(size, value);
      if (!is_new && it->second != value) user_error("{}: {} is {}, expected {}", what, to_string(size), value, it->second);
    } else if (size.is_integer() && size.integer() != value) {
      user_error("{}: found size {}, expected {}", what, value, size.integer());
    }
  }

  void bind(const ReferenceInputs& inputs) {
    if (inputs.parameters.size() != program_.parameters.size())
      user_error("{} inputs, expected {}", inputs.parameters.size(), program_.parameters.size());
    for (size_t k = 0; k < inputs.parameters.size(); ++k) {
      if (auto* symbol = std::get_if<Expr>(&program_.parameters[k])) {
        bind_size(*symbol, std::get<int64_t>(inputs.parameters[k]), "input");
        continue;
      }
      Buffer* b = std::get<Buffer*>(program_.parameters[k]);
      const auto* t = std::get_if<HostTensor>(&inputs.parameters[k]);
      if (!t) user_error("input {}: found a number, expected a tensor", b->name);
      if (t->dtype != b->dtype) user_error("input {}: found {}, expected {}", b->name, dtype_name(t->dtype), dtype_name(b->dtype));
      if (t->sizes.size() != b->sizes.size())
        user_error("input {}: found {} dimensions, expected {}", b->name, t->sizes.size(), b->sizes.size());
      for (size_t d = 0; d < b->sizes.size(); ++d) bind_size(b->sizes[d], t->sizes[d], b->name);
      memory_[b] = *t;
    }
    for (const auto& b : program_.buffers())
      if (b->kind == BufferKind::kConstant) {
        auto it = inputs.constants.find(b->name);
        if (it == inputs.constants.end()) user_error("constant {} was not given", b->name);
        memory_[b.get()] = it->second;
      }
  }

  std::vector<int64_t> evaluate_all(std::span<const Expr> exprs) {
    std::vector<int64_t> result;
    for (Expr e : exprs) result.push_back(evaluate(e, symbols_));
    return result;
  }

  HostTensor gather(const ExternTensor& t) {
    const HostTensor& source = memory_.at(t.buffer);
    HostTensor result = HostTensor::zeros(source.dtype, evaluate_all(t.sizes));
    for_each_coordinate(result.sizes, [&](const std::vector<int64_t>& at) {
      for (size_t d = 0; d < at.size(); ++d) symbols_[t.axes[d]] = at[d];
      result.set(at, source.at(evaluate_all(t.coordinates)));
    });
    if (t.dtype != source.dtype) result.dtype = t.dtype;
    return result;
  }

  HostArgument host_argument(const ExternArgument& argument) {
    struct Visitor {
      Machine& machine;
      HostArgument operator()(Expr e) const { return evaluate(e, machine.symbols_); }
      HostArgument operator()(const ExternTensor& t) const { return machine.gather(t); }
      HostArgument operator()(const ExternArgumentList& list) const {
        HostArgumentList result;
        for (const auto& a : list) result.push_back(machine.host_argument(a));
        return result;
      }
      HostArgument operator()(None v) const { return v; }
      HostArgument operator()(bool v) const { return v; }
      HostArgument operator()(int64_t v) const { return v; }
      HostArgument operator()(double v) const { return v; }
      HostArgument operator()(std::complex<double> v) const { return v; }
      HostArgument operator()(const std::string& v) const { return v; }
      HostArgument operator()(DType v) const { return v; }
      HostArgument operator()(const Device& v) const { return v; }
      HostArgument operator()(MemoryFormat v) const { return v; }
    };
    const auto& base = static_cast<const std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device,
                                                      MemoryFormat, ExternTensor, ExternArgumentList>&>(argument);
    return std::visit(Visitor{*this}, base);
  }

  void run_operation(const Operation& op) {
    if (op.kind == OperationKind::kExtern) return run_extern(op);
    std::vector<int64_t> extents;
    for (Expr axis : op.axes) extents.push_back(evaluate(axis.extent(), symbols_));
    for (Buffer* b : op.outputs) memory_[b] = HostTensor::zeros(b->dtype, evaluate_all(b->sizes));
    switch (op.kind) {
      case OperationKind::kPointwise: run_pointwise(op, extents); break;
      case OperationKind::kReduction: run_reduction(op, extents); break;
      case OperationKind::kScan: run_scan(op, extents); break;
      case OperationKind::kScatter: run_scatter(op, extents); break;
      case OperationKind::kExtern: break;
    }
  }

  std::vector<Scalar> yields_at(const Operation& op, PointEvaluator& point, std::span<const int64_t> at) {
    for (size_t d = 0; d < at.size(); ++d) symbols_[op.axes[d]] = at[d];
    std::vector<Scalar> values = interpret(op.body, point);
    std::vector<Scalar> result;
    for (ValueId y : op.body.yields) result.push_back(values[y]);
    return result;
  }

  void store(const Operation& op, std::span<const int64_t> at, std::span<const Scalar> values) {
    for (size_t k = 0; k < op.outputs.size(); ++k) memory_.at(op.outputs[k]).set(at, values[k]);
  }

  void run_pointwise(const Operation& op, std::span<const int64_t> extents) {
    PointEvaluator point(symbols_, memory_);
    for_each_coordinate(extents, [&](const std::vector<int64_t>& at) { store(op, at, yields_at(op, point, at)); });
  }

  void run_reduction(const Operation& op, std::span<const int64_t> extents) {
    PointEvaluator point(symbols_, memory_);
    size_t rank = static_cast<size_t>(op.rank);
    for_each_coordinate(extents.first(rank), [&](const std::vector<int64_t>& at) {
      Accumulator accumulator(op);
      std::vector<int64_t> full = at;
      for_each_coordinate(extents.subspan(rank), [&](const std::vector<int64_t>& reduced) {
        full.resize(rank);
        full.insert(full.end(), reduced.begin(), reduced.end());
        accumulator.add(yields_at(op, point, full));
      });
      store(op, at, accumulator.finish());
    });
  }

  void run_scan(const Operation& op, std::span<const int64_t> extents) {
    PointEvaluator point(symbols_, memory_);
    std::vector<int64_t> outer(extents.begin(), extents.end());
    int64_t length = outer[op.scan_axis];
    outer[op.scan_axis] = std::min<int64_t>(length, 1);
    for_each_coordinate(outer, [&](const std::vector<int64_t>& start) {
      std::vector<int64_t> at = start;
      if (is_sort(op.reduction)) return sort_row(op, point, std::move(at), length);
      Accumulator accumulator(op);
      for (int64_t k = 0; k < length; ++k) {
        at[op.scan_axis] = k;
        accumulator.add(yields_at(op, point, at));
        store(op, at, accumulator.finish());
      }
    });
  }

  void sort_row(const Operation& op, PointEvaluator& point, std::vector<int64_t> at, int64_t length) {
    std::vector<std::vector<Scalar>> row;
    for (int64_t k = 0; k < length; ++k) {
      at[op.scan_axis] = k;
      row.push_back(yields_at(op, point, at));
    }
    auto is_less = [&](const Scalar& a, const Scalar& b) {
      const bool a_nan = std::isnan(a.real), b_nan = std::isnan(b.real);
      return a_nan || b_nan ? b_nan && !a_nan : evaluate(Op::kLt, op.accumulate, std::array{a, b}).integer != 0;
    };
    std::ranges::stable_sort(row, [&](const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
      return op.reduction == ReductionKind::kSort ? is_less(a[0], b[0]) : is_less(b[0], a[0]);
    });
    for (int64_t k = 0; k < length; ++k) {
      at[op.scan_axis] = k;
      store(op, at, row[static_cast<size_t>(k)]);
    }
  }

  void run_scatter(const Operation& op, std::span<const int64_t> extents) {
    PointEvaluator point(symbols_, memory_);
    HostTensor result = memory_.at(op.scatter_base).copy();
    for_each_coordinate(extents, [&](const std::vector<int64_t>& at) {
      Scalar value = convert(yields_at(op, point, at)[0], result.dtype);
      std::vector<int64_t> to = evaluate_all(op.scatter_coordinates);
      for (size_t d = 0; d < to.size(); ++d)
        LITZ_CHECK(to[d] >= 0 && to[d] < result.sizes[d], "scatter {}: coordinate {} is {}, size {}", op.name, d, to[d], result.sizes[d]);
      static constexpr Op kCombine[] = {Op::kAdd, Op::kAdd, Op::kMul, Op::kMinimum, Op::kMaximum};
      if (op.scatter_mode != ScatterMode::kStore)
        value = evaluate(kCombine[static_cast<int>(op.scatter_mode)], result.dtype, std::array{result.at(to), value});
      result.set(to, value);
    });
    memory_[op.outputs[0]] = result;
  }

  void run_extern(const Operation& op) {
    std::vector<HostArgument> arguments;
    for (const auto& a : op.arguments) arguments.push_back(host_argument(a));
    ExternResult result;
    if (externs_) result = externs_(op, arguments);
    else if (auto product = run_matrix_product(op, arguments)) result = std::move(*product);
    else user_error("the reference interpreter has no {}: pass an extern runner", op.callee->name);
    LITZ_CHECK(result.tensors.size() == op.outputs.size(), "{} gave {} tensors, expected {}", op.callee->name, result.tensors.size(),
               op.outputs.size());
    for (size_t k = 0; k < op.outputs.size(); ++k) memory_[op.outputs[k]] = result.tensors[k];
    LITZ_CHECK(result.symbols.size() == op.symbol_outputs.size(), "{} gave {} integers, expected {}", op.callee->name,
               result.symbols.size(), op.symbol_outputs.size());
    for (size_t k = 0; k < op.symbol_outputs.size(); ++k) symbols_[op.symbol_outputs[k]] = result.symbols[k];
  }

  const LoopProgram& program_;
  const ExternRunner& externs_;
  Values symbols_;
  std::unordered_map<const Buffer*, HostTensor> memory_;
};

}  // namespace

ReferenceOutputs run_reference(const LoopProgram& program, const ReferenceInputs& inputs, const ExternRunner& externs) {
  return Machine(program, externs).run(inputs);
}

}  // namespace litz
