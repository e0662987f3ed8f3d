#include "litz/schedule/group_mapping.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace litz {
namespace {

Substitution axes_of(const GroupMember& m) {
  Substitution map;
  for (size_t i = 0; i < m.operation->axes.size(); ++i)
    if (m.operation->axes[i] != m.axis_map[i]) map.emplace_back(m.operation->axes[i], m.axis_map[i]);
  return map;
}

bool contains(std::span<const Expr> list, Expr e) { return std::find(list.begin(), list.end(), e) != list.end(); }

bool mentions_any(Expr e, std::span<const Expr> symbols) {
  if (symbols.empty()) return false;
  for (Expr s : free_symbols(e))
    if (contains(symbols, s)) return true;
  return false;
}

/// A member with its group's and its own axes replaced. New local axes come first.
GroupMember rewritten(const GroupMember& m, const Substitution& map, std::span<const Expr> extra_locals) {
  GroupMember out = m;
  out.axis_map = substitute(m.axis_map, map);
  out.local_axes.assign(extra_locals.begin(), extra_locals.end());
  for (Expr local : m.local_axes) {
    auto it = std::find_if(map.begin(), map.end(), [&](auto& p) { return p.first == local; });
    if (it == map.end()) out.local_axes.push_back(local);
    else if (it->second.is_symbol() && !contains(out.local_axes, it->second)) out.local_axes.push_back(it->second);
  }
  return out;
}

/// Splits axes of `axes` so that floor_div(axis, k) and mod(axis, k) in the coordinates become axes of their own.
Substitution split_for(std::vector<Expr>& axes, const std::vector<Expr>& coordinates, ExprContext& context) {
  Substitution map;
  std::function<void(Expr, std::unordered_map<Expr, Expr>&)> find = [&](Expr e, std::unordered_map<Expr, Expr>& factor) {
    if ((e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kMod) && e.operands()[0].is_symbol() && contains(axes, e.operands()[0])) {
      const Expr k = e.operands()[1], axis = e.operands()[0];
      if (mod(axis.extent(), k).is_integer(0)) {
        auto [it, fresh] = factor.emplace(axis, k);
        // Of two factors of one axis the smaller goes first; the other is found in the next round.
        if (!fresh && it->second.as_integer() && k.as_integer() && *k.as_integer() < *it->second.as_integer()) it->second = k;
      }
    }
    for (Expr o : e.operands()) find(o, factor);
  };
  for (int round = 0; round < 4; ++round) {
    std::unordered_map<Expr, Expr> factor;
    for (Expr c : substitute(coordinates, map)) find(c, factor);
    if (factor.empty()) break;
    for (auto& [axis, k] : factor) {
      const Expr outer = context.axis("i", floor_div(axis.extent(), k)), inner = context.axis("i", k);
      const Substitution one{{axis, outer * k + inner}};
      for (auto& entry : map) entry.second = substitute(entry.second, one);
      map.push_back(one[0]);
      auto at = std::find(axes.begin(), axes.end(), axis);
      *at = outer;
      axes.insert(at + 1, inner);
    }
  }
  return map;
}

/// A dependence through which the groups' axes can be matched.
struct Link {
  const GroupMember* writer = nullptr;
  const GroupMember* reader = nullptr;
  std::vector<Expr> written, read;
};

std::vector<Link> links(const FusedGroup& first, const FusedGroup& second) {
  std::vector<Link> out;
  for (const GroupMember& w : first.members)
    for (const GroupAccess& write : accesses_of(w)) {
      if (!write.is_write) continue;
      for (const GroupMember& r : second.members)
        for (const GroupAccess& read : accesses_of(r))
          if (!read.is_write && read.buffer == write.buffer) out.push_back({&w, &r, write.coordinates, read.coordinates});
    }
  return out;
}

JoinedMembers assemble(std::vector<Expr> axes, const FusedGroup& first, const Substitution& first_map, std::span<const Expr> first_locals,
                       const FusedGroup& second, const Substitution& second_map, std::span<const Expr> second_locals) {
  JoinedMembers joined{std::move(axes), {}};
  for (const auto& m : first.members) joined.members.push_back(rewritten(m, first_map, first_locals));
  for (const auto& m : second.members) joined.members.push_back(rewritten(m, second_map, second_locals));
  return joined;
}

/// first's outer axes follow from what second reads of it.
Result<JoinedMembers> join_by_link(const FusedGroup& first, const FusedGroup& second, const Link& link, ExprContext& context) {
  // Refine second where it reads at quotients and remainders of one axis.
  std::vector<Expr> second_axes = second.axes;
  std::vector<Expr> reader_locals = link.reader->local_axes;
  std::vector<Expr> all = second_axes;
  const Substitution split = split_for(all, link.read, context);
  std::vector<Expr> read = substitute(link.read, split);
  second_axes = all;
  Substitution first_map;
  std::vector<Expr> used;
  for (size_t k = 0; k < link.written.size(); ++k) {
    const Expr w = link.written[k];
    if (!w.is_symbol()) {
      if (w == read[k]) continue;
      return unsupported("written at {} and read at {}", to_string(w), to_string(read[k]));
    }
    if (!contains(first.axes, w)) continue;  // a local axis of the writer: all of it is there when its loop has ended
    for (Expr s : free_symbols(read[k]))
      if (s.symbol_kind() == SymbolKind::kIndirect) return unsupported("read at a computed index");
    if (first_map.end() != std::find_if(first_map.begin(), first_map.end(), [&](auto& p) { return p.first == w; }))
      return unsupported("axis {} written in two dimensions", to_string(w));
    first_map.emplace_back(w, read[k]);
  }
  if (first_map.size() != first.axes.size()) {
    for (Expr a : first.axes)
      if (std::none_of(first_map.begin(), first_map.end(), [&](auto& p) { return p.first == a; })) {
        if (!a.extent().is_integer(1)) return unsupported("axis {} of the producer is not determined by the read", to_string(a));
        first_map.emplace_back(a, context.integer(0));
      }
  }
  std::vector<Expr> coordinates, sizes;
  for (Expr a : first.axes) {
    coordinates.push_back(std::find_if(first_map.begin(), first_map.end(), [&](auto& p) { return p.first == a; })->second);
    sizes.push_back(a.extent());
  }
  std::vector<Expr> mapped;
  for (Expr c : coordinates)
    for (Expr s : free_symbols(c))
      if (!contains(mapped, s)) mapped.push_back(s);
  std::vector<Expr> outer, first_locals, second_locals;
  for (Expr a : second_axes) (contains(mapped, a) || a.extent().is_integer(1) ? outer : second_locals).push_back(a);
  for (Expr a : reader_locals)
    if (contains(mapped, a)) first_locals.push_back(a);
  std::vector<Expr> spanned;
  for (Expr a : outer)
    if (contains(mapped, a)) spanned.push_back(a);
  spanned.insert(spanned.end(), first_locals.begin(), first_locals.end());
  if (!is_bijective(coordinates, sizes, spanned, context))
    return unsupported("read at ({}), which does not visit each point once", [&] {
      std::string text;
      for (Expr c : coordinates) text += (text.empty() ? "" : ", ") + to_string(c);
      return text;
    }());
  return assemble(std::move(outer), first, first_map, first_locals, second, split, second_locals);
}

/// Members of second run in the loops of first where their local axes have the same extents one by one.
void share_local_loops(JoinedMembers& joined, size_t first_count) {
  for (size_t k = first_count; k < joined.members.size(); ++k) {
    GroupMember& m = joined.members[k];
    if (m.local_axes.empty()) continue;
    for (size_t j = first_count; j-- > 0;) {
      const auto& have = joined.members[j].local_axes;
      if (have.size() != m.local_axes.size() || have == m.local_axes) continue;
      bool fits = true;
      for (size_t d = 0; d < have.size(); ++d) fits &= have[d].extent() == m.local_axes[d].extent();
      if (!fits) continue;
      Substitution map;
      for (size_t d = 0; d < have.size(); ++d) map.emplace_back(m.local_axes[d], have[d]);
      m.axis_map = substitute(m.axis_map, map);
      m.local_axes = have;
      break;
    }
  }
}

/// The same outer loops: equal extents one by one (extents of 1 aside).
std::optional<Substitution> match_extents(std::span<const Expr> from, std::span<const Expr> to, ExprContext& context) {
  Substitution map;
  size_t j = 0;
  for (Expr a : from) {
    if (a.extent().is_integer(1)) {
      map.emplace_back(a, context.integer(0));
      continue;
    }
    while (j < to.size() && to[j].extent().is_integer(1)) ++j;
    if (j == to.size() || to[j].extent() != a.extent()) return std::nullopt;
    map.emplace_back(a, to[j++]);
  }
  while (j < to.size() && to[j].extent().is_integer(1)) ++j;
  if (j != to.size()) return std::nullopt;
  return map;
}

/// Coefficients of a load's offset along the axes; nullopt if it is not affine or the layout is not decided.
std::optional<std::vector<Expr>> steps_of(const GroupAccess& access, std::span<const Expr> axes, ExprContext& context) {
  if (access.buffer->layout.kind != LayoutKind::kStrided) return std::nullopt;
  Expr offset = context.integer(0);
  for (size_t d = 0; d < access.coordinates.size(); ++d) offset = offset + access.coordinates[d] * access.buffer->layout.strides[d];
  auto form = linear_form(offset, axes);
  if (!form) return std::nullopt;
  return form->coefficients;
}

/// The same outer loops in another order: axes with one extent that walk a buffer that both groups read by the same step.
std::optional<Substitution> match_steps(const FusedGroup& first, const FusedGroup& second, ExprContext& context) {
  if (first.axes.size() != second.axes.size()) return std::nullopt;
  for (const GroupMember& a : first.members)
    for (const GroupAccess& x : accesses_of(a)) {
      if (x.is_write) continue;
      const auto from = steps_of(x, first.axes, context);
      if (!from) continue;
      for (const GroupMember& b : second.members)
        for (const GroupAccess& y : accesses_of(b)) {
          if (y.is_write || y.buffer != x.buffer) continue;
          const auto to = steps_of(y, second.axes, context);
          if (!to) continue;
          Substitution map;
          std::vector<bool> taken(second.axes.size(), false);
          for (size_t i = 0; i < first.axes.size(); ++i)
            for (size_t j = 0; j < second.axes.size(); ++j)
              if (!taken[j] && (*from)[i] == (*to)[j] && !(*from)[i].is_integer(0) && first.axes[i].extent() == second.axes[j].extent()) {
                taken[j] = true;
                map.emplace_back(first.axes[i], second.axes[j]);
                break;
              }
          if (map.size() == first.axes.size()) return map;
        }
    }
  return std::nullopt;
}

/// Both axis lists cut into common pieces: (12, 64) and (768) become (12, 64) and 64*i + j.
struct Refinement {
  std::vector<Expr> axes;
  Substitution first, second;
};
std::optional<Refinement> refine(std::span<const Expr> a, std::span<const Expr> b, ExprContext& context) {
  Refinement out;
  struct Side {
    std::span<const Expr> axes;
    size_t next;
    Expr left;              // extent of the current axis that is not yet cut off
    Expr position, weight;  // value built so far from the inner pieces
  };
  auto start = [&](std::span<const Expr> s) { return Side{s, s.size(), {}, context.integer(0), context.integer(1)}; };
  Side x = start(a), y = start(b);
  auto advance = [&](Side& s, Substitution& map) {
    while (!s.left || s.left.is_integer(1)) {
      if (s.left) map.emplace_back(s.axes[s.next], s.position);
      if (s.next == 0) return false;
      --s.next;
      s.left = s.axes[s.next].extent();
      s.position = context.integer(0);
      s.weight = context.integer(1);
    }
    return true;
  };
  std::vector<Expr> reversed;
  while (true) {
    const bool more_x = advance(x, out.first), more_y = advance(y, out.second);
    if (more_x != more_y) return std::nullopt;
    if (!more_x) break;
    Expr piece;
    if (x.left == y.left) piece = x.left;
    else if (mod(x.left, y.left).is_integer(0)) piece = y.left;
    else if (mod(y.left, x.left).is_integer(0)) piece = x.left;
    else return std::nullopt;
    const Expr axis = context.axis("i", piece);
    reversed.push_back(axis);
    for (Side* s : {&x, &y}) {
      s->position = s->position + axis * s->weight;
      s->weight = s->weight * piece;
      s->left = floor_div(s->left, piece);
    }
  }
  out.axes.assign(reversed.rbegin(), reversed.rend());
  return out;
}

}  // namespace

bool is_bijective(std::span<const Expr> coordinates, std::span<const Expr> sizes, std::span<const Expr> axes, ExprContext& context) {
  const Expr flat = flatten(context, coordinates, sizes);
  auto form = linear_form(flat, axes);
  if (!form || !form->rest.is_integer(0)) return false;
  // A mixed radix: each coefficient is the product of the extents of the axes with smaller coefficients.
  std::vector<size_t> left;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].extent().is_integer(1)) continue;
    if (form->coefficients[i].is_integer(0)) return false;
    left.push_back(i);
  }
  Expr radix = context.integer(1);
  while (!left.empty()) {
    auto it = std::find_if(left.begin(), left.end(), [&](size_t i) { return form->coefficients[i] == radix; });
    if (it == left.end()) return false;
    radix = radix * axes[*it].extent();
    left.erase(it);
  }
  return radix == product(context, sizes);
}

std::vector<GroupAccess> accesses_of(const GroupMember& member) {
  std::vector<GroupAccess> out;
  const Substitution map = axes_of(member);
  const Operation& op = *member.operation;
  // An axis of extent 1 is at 0: the same point then has the same coordinates.
  auto pinned = [](Expr e) { return e.is_symbol() && e.extent() && e.extent().is_integer(1) ? e.context().integer(0) : e; };
  auto mapped = [&](const std::vector<Expr>& c) {
    std::vector<Expr> out = map.empty() ? c : substitute(c, map);
    for (Expr& e : out) e = pinned(e);
    return out;
  };
  for (const Instr& i : op.body.instrs)
    if (i.op == Op::kLoad) {
      std::vector<Expr> coordinates = mapped(i.coordinates);
      const bool seen =
          std::any_of(out.begin(), out.end(), [&](const GroupAccess& a) { return a.buffer == i.buffer && a.coordinates == coordinates; });
      if (!seen) out.push_back({i.buffer, std::move(coordinates), false});
    }
  if (op.scatter_base) out.push_back({op.scatter_base, mapped(op.scatter_coordinates), false});
  for (const Buffer* b : op.outputs) {
    std::vector<Expr> at;
    if (op.kind == OperationKind::kScatter) {
      at = mapped(op.scatter_coordinates);
    } else {
      for (int k = 0; k < op.rank; ++k) at.push_back(pinned(member.axis_map[k]));
    }
    out.push_back({b, std::move(at), true});
  }
  return out;
}

Result<JoinedMembers> join_groups(const FusedGroup& first, const FusedGroup& second, ExprContext& context) {
  std::string why;
  for (const Link& link : links(first, second)) {
    auto joined = join_by_link(first, second, link, context);
    if (joined) {
      if (auto violation = find_violation(joined->axes, joined->members)) why = *violation;
      else return joined;
    } else if (why.empty()) {
      why = joined.reason();
    }
  }
  if (auto map = match_steps(first, second, context)) {
    JoinedMembers joined = assemble(second.axes, first, *map, {}, second, {}, {});
    if (!find_violation(joined.axes, joined.members)) return joined;
  }
  if (auto map = match_extents(first.axes, second.axes, context)) {
    JoinedMembers joined = assemble(second.axes, first, *map, {}, second, {}, {});
    if (auto violation = find_violation(joined.axes, joined.members)) {
      if (why.empty()) why = *violation;
    } else {
      return joined;
    }
  } else if (auto common = refine(first.axes, second.axes, context)) {
    JoinedMembers joined = assemble(common->axes, first, common->first, {}, second, common->second, {});
    if (auto violation = find_violation(joined.axes, joined.members)) {
      if (why.empty()) why = *violation;
    } else {
      return joined;
    }
  }
  // One group's outer loops are the first ones of the other's.
  for (bool first_is_shorter : {true, false}) {
    const auto& shorter = first_is_shorter ? first.axes : second.axes;
    const auto& longer = first_is_shorter ? second.axes : first.axes;
    if (shorter.size() >= longer.size() || shorter.empty()) continue;
    auto map = match_extents(shorter, std::span(longer).first(shorter.size()), context);
    if (!map) continue;
    const std::vector<Expr> outer(longer.begin(), longer.begin() + shorter.size()), rest(longer.begin() + shorter.size(), longer.end());
    JoinedMembers joined =
        first_is_shorter ? assemble(outer, first, *map, {}, second, {}, rest) : assemble(outer, first, {}, rest, second, *map, {});
    JoinedMembers apart = joined;
    share_local_loops(joined, first.members.size());
    if (!find_violation(joined.axes, joined.members)) return joined;
    if (!find_violation(apart.axes, apart.members)) return apart;
  }
  return unsupported("{}", why.empty() ? "the loops have different extents" : why);
}

std::optional<std::string> find_violation(const std::vector<Expr>& axes, const std::vector<GroupMember>& members,
                                          const std::function<bool(const Buffer*)>& shares) {
  struct Write {
    size_t member;
    std::vector<Expr> coordinates;
  };
  std::unordered_map<const Buffer*, Write> writes;
  std::unordered_map<const Buffer*, std::vector<std::pair<size_t, std::vector<Expr>>>> reads;
  std::vector<std::vector<GroupAccess>> accesses;
  for (const auto& m : members) accesses.push_back(accesses_of(m));
  for (size_t k = 0; k < members.size(); ++k) {
    for (const GroupAccess& a : accesses[k]) {
      if (a.is_write) continue;
      reads[a.buffer].emplace_back(k, a.coordinates);
      auto w = writes.find(a.buffer);
      if (w == writes.end()) continue;
      const GroupMember& writer = members[w->second.member];
      if (writer.operation->kind == OperationKind::kScatter || members[k].operation->scatter_base == a.buffer)
        return fmt::format("{} is scattered to", a.buffer->name);
      for (size_t d = 0; d < a.coordinates.size(); ++d) {
        const Expr written = w->second.coordinates[d], read = a.coordinates[d];
        if (written == read) continue;
        // Different points are fine along local axes of the writer, whose loop has ended; not along the outer axes.
        if (mentions_any(written, axes))
          return fmt::format("{} is written at {} and read at {}", a.buffer->name, to_string(written), to_string(read));
        if (!mentions_any(written, writer.local_axes) && !written.is_integer())
          return fmt::format("{} is written at {} and read at {}", a.buffer->name, to_string(written), to_string(read));
      }
    }
    for (const GroupAccess& a : accesses[k])
      if (a.is_write) writes[a.buffer] = {k, a.coordinates};
  }
  // A new version of a buffer may share storage with the old one: then what was read of the old one at an outer point is written at the
  // same outer point, and within it the reads come first: in an earlier loop, or in the same loop at the same element.
  for (const auto& [buffer, write] : writes) {
    const Buffer* old = buffer->version_of;
    if (!old || !shares(buffer)) continue;
    for (const auto& [member, coordinates] : reads[old]) {
      if (member > write.member) return fmt::format("{} is read after its new version {} is written", old->name, buffer->name);
      const bool same_loop = members[member].local_axes == members[write.member].local_axes;
      for (size_t d = 0; d < coordinates.size(); ++d) {
        if (coordinates[d] == write.coordinates[d]) continue;
        if (same_loop || mentions_any(coordinates[d], axes) || mentions_any(write.coordinates[d], axes))
          return fmt::format("{} is read at {} while {} is written at {}", old->name, to_string(coordinates[d]), buffer->name,
                             to_string(write.coordinates[d]));
      }
    }
  }
  return std::nullopt;
}

}  // namespace litz
