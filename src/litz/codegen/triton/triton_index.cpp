#include "litz/codegen/triton/triton_index.h"

#include <fmt/format.h>

#include "litz/support/check.h"

namespace litz {
namespace {

constexpr IndexWords kWords = {.quotient = "//",
                               .floor_div = "lt.index_floor_div",
                               .mod = "lt.index_mod",
                               .minimum = "tl.minimum",
                               .maximum = "tl.maximum",
                               .conjunction = " & ",
                               .disjunction = " | ",
                               .comparisons_bind_loosest = true};

}  // namespace

TritonIndex::TritonIndex() : IndexSpelling(kWords) {}

std::string TritonIndex::symbol(Expr symbol) const {
  auto known = texts_.find(symbol);
  LITZ_CHECK(known != texts_.end(), "no text for symbol {}", symbol.symbol_name());
  return known->second;
}

const std::string* TritonIndex::known(Expr expr) const {
  const auto found = texts_.find(expr);
  return found == texts_.end() ? nullptr : &found->second;
}

std::string TritonIndex::integer(int64_t value) const { return fmt::format("{}", value); }

std::pair<std::string, bool> TritonIndex::negation(Expr operand) const {
  return {fmt::format("{} == 0", spell(operand, Place::kSum)), false};
}

std::string TritonIndex::choice(Expr condition, Expr if_true, Expr if_false) const {
  return fmt::format("tl.where({}, {}, {})", spell(condition), spell(if_true), spell(if_false));
}

}  // namespace litz
