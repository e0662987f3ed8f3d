#include "litz/driver/fill_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

/// Libraries that do the heavy arithmetic; every other extern call is an op without native code.
bool is_library_call(std::string_view op) {
  constexpr std::string_view kLibrary[] = {
      "aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm", "aten.convolution", "mkldnn._convolution_pointwise", "mkldnn._linear_pointwise"};
  for (std::string_view name : kLibrary)
    if (op == name || op.starts_with(std::string(name) + ".")) return true;
  return op.find("scaled_dot_product") != std::string_view::npos || op.find("convolution_backward") != std::string_view::npos;
}

constexpr int64_t kSizeFallback = 64;

int64_t hint(Expr e) { return size_hint(e, kSizeFallback); }

/// Elements of each buffer that a call touches: never more than it has.
class Traffic {
 public:
  explicit Traffic(ExprContext& context) : context_(context) {}
  void add(const Buffer* b, int64_t elements) {
    const int64_t all = hint(product(context_, b->sizes));
    int64_t& now = elements_[b];
    now = std::min(all, std::max(now, elements));
  }
  int64_t bytes() const {
    int64_t total = 0;
    for (const auto& [b, n] : elements_) total += n * dtype_bytes(b->dtype);
    return total;
  }

 private:
  ExprContext& context_;
  std::map<const Buffer*, int64_t> elements_;
};

/// Points of the operation's axes at which a load sees different elements.
int64_t distinct_points(const Operation& op, const Instr& load) {
  bool is_indirect = false;
  std::set<uint32_t> seen;
  int64_t points = 1;
  for (Expr c : load.coordinates)
    for (Expr s : free_symbols(c)) {
      is_indirect |= s.symbol_kind() == SymbolKind::kIndirect;
      if (s.symbol_kind() == SymbolKind::kAxis && seen.insert(s.id()).second) points *= std::max<int64_t>(1, hint(s.extent()));
    }
  if (!is_indirect) return points;
  int64_t all = 1;
  for (Expr a : op.axes) all *= std::max<int64_t>(1, hint(a.extent()));
  return all;
}

/// What one group reads and writes in memory: values that stay inside the kernel do not count.
void count_group(const FusedGroup& group, const Kernel* kernel, Traffic& read, Traffic& written) {
  if (group.kind == GroupKind::kExtern) {
    const Operation& op = *group.members[0].operation;
    for (const auto& a : op.arguments)
      for_each_tensor(a, [&](const ExternTensor& t) {
        int64_t n = 1;
        for (Expr s : t.sizes) n *= hint(s);
        read.add(t.buffer, n);
      });
    for (const Buffer* b : op.outputs) written.add(b, std::numeric_limits<int64_t>::max());
    return;
  }
  std::set<const Buffer*> inputs;
  for (const KernelParameter& p : kernel->parameters) {
    if (p.kind == KernelParameter::kInput || p.kind == KernelParameter::kInOut) inputs.insert(p.buffer);
    if (p.kind == KernelParameter::kOutput || p.kind == KernelParameter::kInOut) written.add(p.buffer, std::numeric_limits<int64_t>::max());
  }
  std::set<const Buffer*> made_here;
  for (const GroupMember& m : group.members) {
    for (const Instr& i : m.operation->body.instrs)
      if (i.op == Op::kLoad && inputs.contains(i.buffer) && !made_here.contains(i.buffer))
        read.add(i.buffer, distinct_points(*m.operation, i));
    made_here.insert(m.operation->outputs.begin(), m.operation->outputs.end());
  }
}

std::optional<std::vector<int64_t>> strides_of(const WrapperProgram& program, const WrapperOutput& output) {
  const auto* tensor = std::get_if<TensorRef>(&output.value);
  if (!tensor) return std::nullopt;
  std::vector<int64_t> strides;
  for (Expr stride : program.tensors[tensor->id].strides) {
    if (!stride.is_integer()) return std::nullopt;
    strides.push_back(stride.integer());
  }
  return strides;
}

}  // namespace

void fill_report(CompileState& s) {
  CompileReport& r = s.report;
  ExprContext& context = *s.loops->context;
  for (size_t g = 0; g < s.schedule.groups.size(); ++g) {
    const FusedGroup& group = *s.schedule.groups[g];
    if (group.kind == GroupKind::kLoops && !s.kernels[g]) continue;  // part of an earlier kernel, and small
    Traffic read(context), written(context);
    count_group(group, s.kernels[g].get(), read, written);
    r.bytes_read += read.bytes();
    r.bytes_written += written.bytes();
    if (group.kind == GroupKind::kExtern) {
      const Operation& op = *group.members[0].operation;
      (is_library_call(op.callee->name) ? r.library_calls : r.extern_calls)[op.callee->name]++;
    } else {
      r.kernels++;
      r.kernel_names.push_back(group.name);
    }
  }
  for (const Refusal& refusal : s.schedule.refusals)
    r.refusals.push_back(fmt::format("{}: {} with {}: {}", refusal.pass, refusal.first, refusal.second, refusal.reason));
  if (s.options.mode != Options{}.mode) {
    const std::string effect = s.device->mode_effect(s.options.mode);
    r.notes.push_back(fmt::format("mode={}: {}", s.options.mode,
                                  effect.empty() ? fmt::format("changes nothing on the device '{}'", s.device->type()) : effect));
  }
  for (const WrapperOutput& output : s.wrapper->outputs) r.output_strides.push_back(strides_of(*s.wrapper, output));
  for (const FallbackNote& note : s.loops->fallbacks) r.extern_reasons.emplace_back(note.op, note.reason);
}

}  // namespace litz
