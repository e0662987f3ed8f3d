#include "litz/schedule/fused_group.h"

#include "litz/schedule/group_mapping.h"

namespace litz {
namespace {

std::string list(std::span<const Expr> exprs) {
  std::string text;
  for (Expr e : exprs) text += (text.empty() ? "" : ", ") + to_string(e);
  return text;
}

std::string loops(std::span<const Expr> axes) {
  std::string text;
  for (Expr a : axes) text += fmt::format("{}{} < {}", text.empty() ? "" : "; ", to_string(a), to_string(a.extent()));
  return text;
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text;
  for (const auto& g : schedule.groups) {
    if (g->kind == GroupKind::kExtern) {
      text += fmt::format("extern {} {}\n", g->name, g->members[0].operation->callee ? g->members[0].operation->callee->name : "");
      continue;
    }
    text += fmt::format("group {} ({})\n", g->name, loops(g->axes));
    for (const auto& m : g->members) {
      std::string out;
      for (const Buffer* b : m.operation->outputs) out += (out.empty() ? "" : ", ") + b->name;
      text += fmt::format("  {} at [{}]{} -> {}\n", m.operation->name, list(m.axis_map),
                          m.local_axes.empty() ? "" : fmt::format(" for ({})", loops(m.local_axes)), out);
    }
    for (const Buffer* b : g->internal_buffers) text += fmt::format("  internal {}\n", b->name);
  }
  for (const auto& b : schedule.program->buffers())
    if (auto it = schedule.storage_of.find(b.get()); it != schedule.storage_of.end())
      text += fmt::format("storage {} = {}\n", b->name, it->second->name);
  for (const auto& r : schedule.refusals) text += fmt::format("refused {}: {} with {}: {}\n", r.pass, r.first, r.second, r.reason);
  return text;
}

const Buffer* Schedule::shared_storage(const Buffer* buffer) const {
  for (auto it = storage_of.find(buffer); it != storage_of.end() && it->second != buffer; it = storage_of.find(buffer)) buffer = it->second;
  return buffer;
}

void verify(const Schedule& schedule) {
  for (const auto& g : schedule.groups) {
    LITZ_CHECK(!g->members.empty(), "group {} is empty", g->name);
    if (g->kind == GroupKind::kExtern) continue;
    for (const auto& m : g->members)
      LITZ_CHECK(m.axis_map.size() == m.operation->axes.size(), "{} in {}: {} of {} axes are mapped", m.operation->name, g->name,
                 m.axis_map.size(), m.operation->axes.size());
    auto violation = find_violation(g->axes, g->members, [&](const Buffer* b) {
      return schedule.shared_storage(b) == schedule.shared_storage(b->version_of);  // a scatter may have a base of its own
    });
    LITZ_CHECK(!violation, "group {}: {}", g->name, *violation);
  }
}

}  // namespace litz
