#include "litz/loop/body.h"

#include <algorithm>
#include <bit>

namespace litz {

namespace {

struct OpTraits {
  std::string_view text;
  int operands;
  OpResult result;
};

constexpr OpTraits kOps[] = {
#define LITZ_OP(name, Enumerator, operands, result, ...) {#name, operands, OpResult::k##result},
#define LITZ_ATTRIBUTE_OP(name, Enumerator, operands, ...) {#name, operands, OpResult::kExplicit},
#include "litz/loop/ops.def"
};

}  // namespace

std::string_view op_text(Op op) { return kOps[static_cast<int>(op)].text; }
int op_operands(Op op) { return kOps[static_cast<int>(op)].operands; }
OpResult op_result(Op op) { return kOps[static_cast<int>(op)].result; }

std::optional<Op> parse_op(std::string_view text) {
  for (size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].text == text) return static_cast<Op>(i);
  return std::nullopt;
}

bool has_checks(const Body& body) {
  return std::ranges::any_of(body.instrs, [](const Instr& i) { return i.op == Op::kCheckIndex || i.op == Op::kAssertTrue; });
}

bool operator==(const Number& a, const Number& b) {
  return a.is_float == b.is_float && a.integer == b.integer && std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real);
}

}  // namespace litz
