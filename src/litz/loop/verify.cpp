// The postcondition of lowering and of every pass on loop IR.
#include <set>
#include <unordered_set>

#include "litz/loop/program.h"

namespace litz {

namespace {

bool is_same_size(Expr a, Expr b) { return a == b || eq(a, b).is_integer(1); }

class Verifier {
 public:
  explicit Verifier(const LoopProgram& program) : program_(program) {}

  void run() {
    std::set<std::string_view> names;
    for (const auto& b : program_.buffers()) {
      LITZ_CHECK(names.insert(b->name).second, "two buffers are named {}", b->name);
      if (b->kind != BufferKind::kComputed) defined_.insert(b.get());
      if (b->layout.kind != LayoutKind::kFlexible)
        LITZ_CHECK(b->layout.strides.size() == b->sizes.size(), "buffer {} has {} dimensions and {} strides", b->name, b->sizes.size(),
                   b->layout.strides.size());
      if (b->version_of)
        LITZ_CHECK(b->version_of->sizes == b->sizes && b->version_of->dtype == b->dtype,
                   "buffer {} is a version of {} but differs in shape or type", b->name, b->version_of->name);
    }
    for (const Operation* op : program_.operations) {
      verify_operation(*op);
      for (Buffer* b : op->outputs) LITZ_CHECK(defined_.insert(b).second, "op {}: buffer {} is defined twice", op->name, b->name);
    }
    for (const auto& o : program_.outputs)
      if (auto* t = std::get_if<ExternTensor>(&o.value)) verify_tensor("return", *t);
    for (const auto& m : program_.mutations) {
      LITZ_CHECK(m.input->kind == BufferKind::kInput, "mutates {}: not an input", m.input->name);
      LITZ_CHECK(first_version(m.last_version) == m.input && defined_.count(m.last_version),
                 "mutates {}: {} is not a defined version of it", m.input->name, m.last_version->name);
    }
  }

 private:
  void verify_tensor(std::string_view where, const ExternTensor& t) {
    LITZ_CHECK(defined_.count(t.buffer), "{}: buffer {} is used before it is defined", where, t.buffer->name);
    LITZ_CHECK(t.coordinates.size() == t.buffer->sizes.size(), "{}: view of {} with {} coordinates, it has {} dimensions", where,
               t.buffer->name, t.coordinates.size(), t.buffer->sizes.size());
    LITZ_CHECK(t.axes.size() == t.sizes.size(), "{}: view of {} with {} axes and {} sizes", where, t.buffer->name, t.axes.size(),
               t.sizes.size());
    std::vector<Expr> allowed = t.axes;
    for (Expr e : t.coordinates) verify_symbols(where, e, allowed);
  }

  void verify_symbols(std::string_view where, Expr e, std::span<const Expr> allowed) {
    for (Expr s : free_symbols(e)) {
      if (s.symbol_kind() == SymbolKind::kSize || s.symbol_kind() == SymbolKind::kUnbacked) continue;
      bool found = false;
      for (Expr a : allowed) found |= a == s;
      LITZ_CHECK(found, "op {}: {} uses {}, which is neither an axis of the operation nor computed before", where, to_string(e),
                 s.symbol_name());
    }
  }

  void verify_operation(const Operation& op) {
    LITZ_CHECK(op.rank <= static_cast<int>(op.axes.size()), "op {}: rank {} of {} axes", op.name, op.rank, op.axes.size());
    if (op.kind == OperationKind::kExtern) {
      LITZ_CHECK(op.callee, "op {}: an extern operation needs a callee", op.name);
      LITZ_CHECK(op.arguments.size() == op.callee->arguments.size(), "op {}: {} arguments, {} takes {}", op.name, op.arguments.size(),
                 op.callee->name, op.callee->arguments.size());
      for (const auto& a : op.arguments) for_each_tensor(a, [&](const ExternTensor& t) { verify_tensor(op.name, t); });
      return;
    }
    LITZ_CHECK(!op.outputs.empty(), "op {}: no outputs", op.name);
    std::vector<Expr> allowed = op.axes;
    verify_body(op, allowed);
    size_t expected = op.outputs.size();
    if (op.kind == OperationKind::kReduction || op.kind == OperationKind::kScan) {
      const ReductionTraits& traits = reduction_traits(op.reduction);
      bool is_log_scan = op.kind == OperationKind::kScan && op.reduction == ReductionKind::kLogSumExp;
      expected = static_cast<size_t>(traits.inputs);
      size_t outputs = is_log_scan ? 1 : static_cast<size_t>(traits.outputs);
      LITZ_CHECK(op.outputs.size() == outputs, "op {}: {} outputs, {} gives {}", op.name, op.outputs.size(), traits.name, outputs);
      LITZ_CHECK(op.kind == OperationKind::kScan || !is_sort(op.reduction), "op {}: a {} that is no scan", op.name, traits.name);
    }
    LITZ_CHECK(op.body.yields.size() == expected, "op {}: the body yields {} values, expected {}", op.name, op.body.yields.size(),
               expected);
    if (op.kind == OperationKind::kScatter) {
      LITZ_CHECK(op.scatter_base && defined_.count(op.scatter_base), "op {}: the base of the scatter is not defined", op.name);
      LITZ_CHECK(op.scatter_coordinates.size() == op.outputs[0]->sizes.size(), "op {}: {} scatter coordinates for {} dimensions", op.name,
                 op.scatter_coordinates.size(), op.outputs[0]->sizes.size());
      for (Expr e : op.scatter_coordinates) verify_symbols(op.name, e, allowed);
      return;
    }
    LITZ_CHECK(op.kind == OperationKind::kReduction || op.rank == static_cast<int>(op.axes.size()),
               "op {}: reduced axes in an operation that reduces nothing", op.name);
    if (op.kind == OperationKind::kScan)
      LITZ_CHECK(op.scan_axis >= 0 && op.scan_axis < op.rank, "op {}: no axis {}", op.name, op.scan_axis);
    for (const Buffer* b : op.outputs) {
      LITZ_CHECK(b->sizes.size() == static_cast<size_t>(op.rank), "op {}: buffer {} has {} dimensions, the operation defines {}", op.name,
                 b->name, b->sizes.size(), op.rank);
      for (int d = 0; d < op.rank; ++d)
        LITZ_CHECK(is_same_size(op.axes[d].extent(), b->sizes[d]), "op {}: axis {} has extent {}, buffer {} has size {}", op.name, d,
                   to_string(op.axes[d].extent()), b->name, to_string(b->sizes[d]));
    }
    bool stores_yields = op.kind == OperationKind::kPointwise;
    for (size_t k = 0; stores_yields && k < op.outputs.size(); ++k)
      LITZ_CHECK(op.body.yield_dtype(k) == op.outputs[k]->dtype, "op {}: yields {} into buffer {} of {}", op.name,
                 dtype_name(op.body.yield_dtype(k)), op.outputs[k]->name, dtype_name(op.outputs[k]->dtype));
  }

  void verify_body(const Operation& op, std::vector<Expr>& allowed) {
    const Body& body = op.body;
    for (size_t k = 0; k < body.instrs.size(); ++k) {
      const Instr& i = body.instrs[k];
      auto type_of = [&](int operand) { return body.instrs[i.operands[operand]].result_dtype(); };
      for (ValueId v : i.operands) LITZ_CHECK(v < static_cast<ValueId>(k), "op {}: v{} uses v{}, which comes later", op.name, k, v);
      int operands = op_operands(i.op);
      bool may_lack = i.op == Op::kLoad || i.op == Op::kCheckIndex;  // the last operand is a predicate
      for (int o = 0; o < operands; ++o)
        LITZ_CHECK(i.operands[o] != kNoValue || (may_lack && o == operands - 1), "op {}: v{} lacks operand {}", op.name, k, o);
      if (may_lack && i.operands[operands - 1] != kNoValue)
        LITZ_CHECK(type_of(operands - 1) == DType::kBool, "op {}: the predicate of v{} is {}", op.name, k,
                   dtype_name(type_of(operands - 1)));
      switch (i.op) {
        case Op::kLoad:
          LITZ_CHECK(defined_.count(i.buffer), "op {}: v{} loads {}, which is not defined yet", op.name, k, i.buffer->name);
          LITZ_CHECK(i.dtype == i.buffer->dtype, "op {}: v{} loads {} as {}", op.name, k, i.buffer->name, dtype_name(i.dtype));
          LITZ_CHECK(i.coordinates.size() == i.buffer->sizes.size(), "op {}: v{} loads {} with {} coordinates", op.name, k, i.buffer->name,
                     i.coordinates.size());
          for (Expr e : i.coordinates) verify_symbols(op.name, e, allowed);
          break;
        case Op::kIndexExpr: verify_symbols(op.name, i.expr, allowed); break;
        case Op::kIndirect:
          LITZ_CHECK(!is_floating(type_of(0)), "op {}: v{} indexes with {}", op.name, k, dtype_name(type_of(0)));
          allowed.push_back(i.expr);
          break;
        case Op::kWhere:
          LITZ_CHECK(type_of(0) == DType::kBool && type_of(1) == type_of(2) && i.dtype == type_of(1), "op {}: types of where v{}", op.name,
                     k);
          break;
        case Op::kConstant:
        case Op::kCheckIndex:
        case Op::kAssertTrue:
        case Op::kRandomUint:
        case Op::kCast:
        case Op::kCastKept:
        case Op::kBitcast: break;
        default:
          for (int o = 0; o < operands; ++o)
            LITZ_CHECK(type_of(o) == i.dtype, "op {}: v{} = {} of {}, operand {} is {}", op.name, k, op_text(i.op), dtype_name(i.dtype), o,
                       dtype_name(type_of(o)));
      }
    }
    for (ValueId y : body.yields)
      LITZ_CHECK(y >= 0 && y < static_cast<ValueId>(body.instrs.size()), "op {}: yields v{}, which does not exist", op.name, y);
  }

  const LoopProgram& program_;
  std::unordered_set<const Buffer*> defined_;
};

}  // namespace

void verify(const LoopProgram& program) { Verifier(program).run(); }

}  // namespace litz
