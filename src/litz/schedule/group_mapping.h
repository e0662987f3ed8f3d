#pragma once
// How two groups can run in one loop nest: the axes of one as expressions over the axes of the other, and the check that after
// joining no member reads what has not been written yet.
#include <functional>

#include "litz/schedule/fused_group.h"
#include "litz/support/check.h"

namespace litz {

/// One access of a member: coordinates over the group's axes and the member's local axes.
struct GroupAccess {
  const Buffer* buffer = nullptr;
  std::vector<Expr> coordinates;
  bool is_write = false;
};

std::vector<GroupAccess> accesses_of(const GroupMember& member);

/// Whether coordinates over `axes` visit every point of a space of `sizes` exactly once.
bool is_bijective(std::span<const Expr> coordinates, std::span<const Expr> sizes, std::span<const Expr> axes, ExprContext& context);

/// Both groups' members on common axes: `first`'s members run before `second`'s.
struct JoinedMembers {
  std::vector<Expr> axes;
  std::vector<GroupMember> members;
};

/// The reason names what does not fit. Does not look at cost.
Result<JoinedMembers> join_groups(const FusedGroup& first, const FusedGroup& second, ExprContext& context);

/// The invariant of FusedGroup for these members; nullopt if it holds, otherwise what violates it. `shares` says whether a new version
/// lies in the old one's storage (before storage is assigned: it may).
std::optional<std::string> find_violation(
    const std::vector<Expr>& axes, const std::vector<GroupMember>& members,
    const std::function<bool(const Buffer*)>& shares = [](const Buffer*) { return true; });

}  // namespace litz
