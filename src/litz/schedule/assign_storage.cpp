#include "litz/schedule/assign_storage.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "litz/loop/dependences.h"
#include "litz/schedule/group_mapping.h"
#include "litz/support/check.h"

namespace litz {
namespace {

std::vector<const Buffer*> buffers_read(const FusedGroup& group) {
  std::vector<const Buffer*> out;
  for (const GroupMember& m : group.members) for_each_read(*m.operation, [&](const Buffer* b) { out.push_back(b); });
  return out;
}

/// Whether a kernel reads the buffer's storage as another tensor: which elements these are, its accesses do not say.
bool reads_by_a_view(const FusedGroup& group, const Buffer* buffer) {
  bool found = false;
  for (const GroupMember& m : group.members)
    for (const Instr& i : m.operation->body.instrs)
      if (i.op == Op::kLoad) for_each_storage(i.buffer->layout.base, [&](const Buffer* b) { found |= b == buffer; });
  return found;
}

}  // namespace

void assign_storage(Schedule& schedule) {
  std::unordered_map<const Buffer*, size_t> last_read, written;
  for (size_t g = 0; g < schedule.groups.size(); ++g) {
    for (const Buffer* b : buffers_read(*schedule.groups[g])) last_read[b] = g;
    for (const auto& m : schedule.groups[g]->members)
      for (const Buffer* b : m.operation->outputs) written[b] = g;
  }
  for (auto& group : schedule.groups)
    for (auto& m : group->members)
      for (Buffer* b : m.operation->outputs) {
        if (m.operation->kind == OperationKind::kScatter) {  // writes into its base (own_scatter_bases)
          const Buffer& base = *m.operation->scatter_base;
          for (size_t d = 0; d < b->sizes.size(); ++d)
            LITZ_CHECK(b->sizes[d].is_integer(1) || b->layout.strides[d] == base.layout.strides[d], "{} lies otherwise than {}, its base",
                       b->name, base.name);
          schedule.storage_of[b] = m.operation->scatter_base;
          continue;
        }
        Buffer* old = b->version_of;
        if (!old) continue;
        auto read = last_read.find(old);
        const bool read_later = read != last_read.end() && read->second > written[b];
        bool read_here_elsewhere = false;
        if (read != last_read.end() && read->second == written[b] && group->kind == GroupKind::kLoops)
          read_here_elsewhere = reads_by_a_view(*group, old) || find_violation(group->axes, group->members).has_value();
        if (read_later || read_here_elsewhere) {
          schedule.refusals.push_back({"assign_storage", old->name, b->name,
                                       read_later ? "the old version is read after the new one is written"
                                                  : "the old version is read at other elements in the same kernel"});
          continue;
        }
        schedule.storage_of[b] = schedule.shared_storage(old);
      }
}

void find_internal_buffers(Schedule& schedule) {
  std::unordered_set<const Buffer*> outside;
  for_each_returned(*schedule.program, [&](const Buffer* b) { outside.insert(b); });
  std::unordered_map<const Buffer*, std::set<const FusedGroup*>> readers;
  for (const auto& group : schedule.groups)
    for (const Buffer* b : buffers_read(*group)) readers[b].insert(group.get());
  for (auto& group : schedule.groups) {
    if (group->kind != GroupKind::kLoops) continue;
    for (auto& m : group->members)
      for (Buffer* b : m.operation->outputs) {
        const auto& r = readers[b];
        const bool only_here = std::all_of(r.begin(), r.end(), [&](auto* g) { return g == group.get(); });
        if (only_here && !outside.contains(b) && !b->version_of && !schedule.storage_of.contains(b)) group->internal_buffers.push_back(b);
      }
  }
}

void name_groups(Schedule& schedule) {
  int id = 0;
  for (auto& group : schedule.groups) {
    group->id = id++;
    if (group->kind == GroupKind::kExtern) {
      group->name = group->members[0].operation->name;
      continue;
    }
    std::vector<std::string> ops;
    for (const auto& m : group->members)
      for (const Node* n : m.operation->sources) {
        if (!n->op) continue;
        std::string name(n->op->name);
        if (auto dot = name.find('.'); dot != std::string::npos) name = name.substr(dot + 1);
        if (auto dot = name.find('.'); dot != std::string::npos) name = name.substr(0, dot);
        while (!name.empty() && name.front() == '_') name.erase(0, 1);
        if (std::find(ops.begin(), ops.end(), name) == ops.end()) ops.push_back(name);
      }
    std::string text = "fused";
    for (const auto& name : ops) {
      if (text.size() + name.size() > 80) break;
      text += "_" + name;
    }
    group->name = fmt::format("{}_{}", text, group->id);
  }
}

}  // namespace litz
