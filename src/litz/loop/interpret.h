#pragma once
// interpret(body, handler): replays a body through a handler, the one way in which anything reads a body: printing, types, ranges,
// dependences, simplification, cost, reference interpreter, code generation. A handler has one member per op of ops.def; one that
// lacks an op does not satisfy the concept and does not compile.
//
//   struct H {
//     using Value = ...;                                                     // what an instruction's result is to this handler
//     Value constant(const Instr&); Value index_expr(const Instr&); Value load(const Instr&, const Value* predicate);
//     Value indirect(const Instr&, Value v); Value check_index(const Instr&, Value v, const Value* predicate);
//     Value assert_true(const Instr&, Value v); Value random_uint(const Instr&, Value seed, Value offset);
//     Value add(const Instr&, Value a, Value b); ...                          // every LITZ_OP
//   };
#include <concepts>
#include <vector>

#include "litz/loop/body.h"

namespace litz {

template <typename H>
concept BodyHandler = requires(H h, const Instr& i, const typename H::Value v, const typename H::Value* p) {
  { h.constant(i) } -> std::convertible_to<typename H::Value>;
  { h.index_expr(i) } -> std::convertible_to<typename H::Value>;
  { h.load(i, p) } -> std::convertible_to<typename H::Value>;
  { h.indirect(i, v) } -> std::convertible_to<typename H::Value>;
  { h.check_index(i, v, p) } -> std::convertible_to<typename H::Value>;
  { h.assert_true(i, v) } -> std::convertible_to<typename H::Value>;
  { h.random_uint(i, v, v) } -> std::convertible_to<typename H::Value>;
#define LITZ_CALL_1(name) \
  { h.name(i, v) } -> std::convertible_to<typename H::Value>;
#define LITZ_CALL_2(name) \
  { h.name(i, v, v) } -> std::convertible_to<typename H::Value>;
#define LITZ_CALL_3(name) \
  { h.name(i, v, v, v) } -> std::convertible_to<typename H::Value>;
#define LITZ_OP(name, Enumerator, operands, ...) LITZ_CALL_##operands(name)
#include "litz/loop/ops.def"
#undef LITZ_CALL_1
#undef LITZ_CALL_2
#undef LITZ_CALL_3
};

/// Values of all instructions, in order.
template <BodyHandler H>
std::vector<typename H::Value> interpret(const Body& body, H& h) {
  std::vector<typename H::Value> values;
  values.reserve(body.instrs.size());
  for (const Instr& i : body.instrs) {
    auto at = [&](int k) -> const typename H::Value& { return values[i.operands[k]]; };
    auto maybe = [&](int k) -> const typename H::Value* { return i.operands[k] == kNoValue ? nullptr : &values[i.operands[k]]; };
    switch (i.op) {
      case Op::kConstant: values.push_back(h.constant(i)); break;
      case Op::kIndexExpr: values.push_back(h.index_expr(i)); break;
      case Op::kLoad: values.push_back(h.load(i, maybe(0))); break;
      case Op::kIndirect: values.push_back(h.indirect(i, at(0))); break;
      case Op::kCheckIndex: values.push_back(h.check_index(i, at(0), maybe(1))); break;
      case Op::kAssertTrue: values.push_back(h.assert_true(i, at(0))); break;
      case Op::kRandomUint: values.push_back(h.random_uint(i, at(0), at(1))); break;
#define LITZ_CALL_1(name) values.push_back(h.name(i, at(0)))
#define LITZ_CALL_2(name) values.push_back(h.name(i, at(0), at(1)))
#define LITZ_CALL_3(name) values.push_back(h.name(i, at(0), at(1), at(2)))
#define LITZ_OP(name, Enumerator, operands, ...) \
  case Op::k##Enumerator: LITZ_CALL_##operands(name); break;
#include "litz/loop/ops.def"
#undef LITZ_CALL_1
#undef LITZ_CALL_2
#undef LITZ_CALL_3
    }
  }
  return values;
}

/// Base for handlers that treat all plain ops alike: Derived has `Value apply(const Instr&, std::initializer_list<Value>)`.
template <typename Derived, typename V>
struct UniformHandler {
  using Value = V;
#define LITZ_CALL_1(name) \
  Value name(const Instr& i, const Value& a) { return static_cast<Derived*>(this)->apply(i, {a}); }
#define LITZ_CALL_2(name) \
  Value name(const Instr& i, const Value& a, const Value& b) { return static_cast<Derived*>(this)->apply(i, {a, b}); }
#define LITZ_CALL_3(name) \
  Value name(const Instr& i, const Value& a, const Value& b, const Value& c) { return static_cast<Derived*>(this)->apply(i, {a, b, c}); }
#define LITZ_OP(name, Enumerator, operands, ...) LITZ_CALL_##operands(name)
#include "litz/loop/ops.def"
#undef LITZ_CALL_1
#undef LITZ_CALL_2
#undef LITZ_CALL_3
};

}  // namespace litz
