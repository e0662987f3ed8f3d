#pragma once
// What runs over an emitted tree before it is verified.
#include <functional>

#include "litz/kernel/kernel.h"

namespace litz {

/// Whether two statements compute the same, or load from the same place, where their operands are the same.
bool same_but_for_operands(const KernelStatement& a, const KernelStatement& b);

/// Every statement, outer before inner, in order; loop statements before their bodies.
void for_each_statement(std::span<const KernelStatement> body, const std::function<void(const KernelStatement&)>& visit);

/// How many loops with lanes lie inside one another.
int lane_depth(std::span<const KernelStatement> body);

/// A loop that asks on which side of a number its axis stands becomes a loop for each side.
void split_at_conditions(Kernel& kernel);
/// Scratch that nobody loads, values that nobody uses and loops with nothing to do are dropped (checks stay).
///   store scratch0[i1] = v3   ->   (nothing)     where every load of scratch0 was forwarded
void remove_dead(Kernel& kernel);
/// Values are numbered as they stand in the tree, without gaps.
void number_values(Kernel& kernel);
/// Values get the lane loops over which they vary.
void annotate_lanes(Kernel& kernel);
/// Whether a statement can report an error to the caller: checks, and integer division unless by a constant that is not 0.
/// `nonzero` are the values that are such constants.
bool can_fail(const KernelStatement& statement, const std::vector<bool>& nonzero);
std::vector<bool> nonzero_constants(const Kernel& kernel);
/// Lists the messages of assertions, in tree order, and whether anything can fail.
void list_assertions(Kernel& kernel);
/// narrow_indices is set where every offset provably fits int32.
void narrow_indices(Kernel& kernel);
/// Parameters that the tree does not use are dropped; numbers are the symbols that it uses and its computed numbers.
void drop_unused_parameters(Kernel& kernel);
/// What a kernel uses that follows from sizes alone, by more than sums and products or where it must not wrap: as a value, in comparisons.
///   i0 < s0*s1, i0 // (s0 // 2)   ->   s0*s1, s0 // 2
std::vector<Expr> computed_numbers(const Kernel& kernel);
/// The same of one expression whose value is wanted.
std::vector<Expr> computed_numbers(Expr value);

}  // namespace litz
