#include "litz/driver/fill_report.h"

#include <algorithm>
#include <set>

#include "litz/schedule/size_hint.h"

namespace litz {
namespace {

/// Libraries that do the heavy arithmetic; every other extern call is an op without native code.
bool is_library_call(std::string_view op) {
  constexpr std::string_view kLibrary[] = {"aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm", "aten.convolution"};
  for (std::string_view name : kLibrary)
    if (op == name || op.starts_with(std::string(name) + ".")) return true;
  return op.find("scaled_dot_product") != std::string_view::npos || op.find("convolution_backward") != std::string_view::npos;
}

int64_t bytes(const Buffer& b, ExprContext& context) {
  return size_hint(product(context, b.sizes), 64) * dtype_bytes(b.dtype);
}

}  // namespace

void fill_report(CompileState& s) {
  CompileReport& r = s.report;
  ExprContext& context = *s.loops->context;
  for (size_t g = 0; g < s.schedule.groups.size(); ++g) {
    const FusedGroup& group = *s.schedule.groups[g];
    std::set<const Buffer*> read, written;
    if (group.kind == GroupKind::kExtern) {
      const Operation& op = *group.members[0].operation;
      (is_library_call(op.callee->name) ? r.library_calls : r.extern_calls)[op.callee->name]++;
      for (const auto& a : op.arguments) for_each_tensor(a, [&](const ExternTensor& t) { read.insert(t.buffer); });
      written.insert(op.outputs.begin(), op.outputs.end());
    } else {
      r.kernels++;
      r.kernel_names.push_back(group.name);
      for (const KernelParameter& p : s.kernels[g]->parameters) {
        if (p.kind == KernelParameter::kInput || p.kind == KernelParameter::kInOut) read.insert(p.buffer);
        if (p.kind == KernelParameter::kOutput || p.kind == KernelParameter::kInOut) written.insert(p.buffer);
      }
    }
    for (const Buffer* b : read) r.bytes_read += bytes(*b, context);
    for (const Buffer* b : written) r.bytes_written += bytes(*b, context);
  }
  for (const Refusal& refusal : s.schedule.refusals)
    r.refusals.push_back(fmt::format("{}: {} with {}: {}", refusal.pass, refusal.first, refusal.second, refusal.reason));
  for (const FallbackNote& note : s.loops->fallbacks) r.extern_reasons.emplace_back(note.op, note.reason);
}

}  // namespace litz
