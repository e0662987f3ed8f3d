#include <algorithm>

#include "litz/decompose/decompose.h"
#include "litz/graph/argument.h"
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {

namespace {

/// A number of a call, which capture may have left symbolic.
void needs_number(const Argument& a) {
  if (a.is<Expr>() && !a.as<Expr>().is_integer()) throw NeedsNumber();
}

}  // namespace

bool Rewrite::has(std::string_view name) const {
  const int i = node.op->argument_index(name);
  return i >= 0 && !node.arguments[i].is<None>();
}

Value Rewrite::tensor(std::string_view name) const {
  const Argument& a = argument(name);
  LITZ_CHECK(a.is<Value>(), "{}: expected a tensor for '{}', found {}", node.op->name, name, argument_text(a));
  return a.as<Value>();
}

Value Rewrite::optional_tensor(std::string_view name) const {
  const Argument& a = argument(name);
  return a.is<Value>() ? a.as<Value>() : Value{};
}

int64_t Rewrite::integer(std::string_view name) const {
  const Argument& a = argument(name);
  if (a.is<bool>()) return a.as<bool>();
  needs_number(a);
  LITZ_CHECK(a.is<int64_t>(), "{}: expected an integer for '{}', found {}", node.op->name, name, argument_text(a));
  return a.as<int64_t>();
}

double Rewrite::number(std::string_view name) const {
  const Argument& a = argument(name);
  if (a.is<double>()) return a.as<double>();
  return static_cast<double>(integer(name));
}

bool Rewrite::flag(std::string_view name) const {
  const Argument& a = argument(name);
  LITZ_CHECK(a.is<bool>(), "{}: expected a bool for '{}', found {}", node.op->name, name, argument_text(a));
  return a.as<bool>();
}

std::string_view Rewrite::text(std::string_view name) const {
  const Argument& a = argument(name);
  LITZ_CHECK(a.is<std::string>(), "{}: expected text for '{}', found {}", node.op->name, name, argument_text(a));
  return a.as<std::string>();
}

std::vector<Expr> Rewrite::sizes(std::string_view name) const {
  const Argument& a = argument(name);
  std::vector<Expr> result;
  auto add = [&](const Argument& e) {
    if (e.is<Expr>()) result.push_back(e.as<Expr>());
    else if (e.is<int64_t>()) result.push_back(b.context().integer(e.as<int64_t>()));
    else LITZ_CHECK(false, "{}: expected integers for '{}', found {}", node.op->name, name, argument_text(a));
  };
  if (a.is<ArgumentList>()) {
    for (const Argument& e : a.as<ArgumentList>()) add(e);
  } else if (!a.is<None>()) {
    add(a);
  }
  return result;
}

bool Rewrite::is_constant(std::string_view name) const {
  for (Expr e : sizes(name))
    if (!e.is_integer()) return false;
  return true;
}

std::vector<int64_t> Rewrite::integers(std::string_view name) const {
  std::vector<int64_t> result;
  for (Expr e : sizes(name)) {
    if (!e.is_integer()) throw NeedsNumber();
    result.push_back(e.integer());
  }
  return result;
}

std::vector<Value> Rewrite::tensors(std::string_view name) const {
  std::vector<Value> result;
  for (const Argument& a : argument(name).as<ArgumentList>()) result.push_back(a.as<Value>());
  return result;
}

int64_t Rewrite::dim(std::string_view name, size_t rank) const { return wrap_dim(integer(name), rank); }

std::vector<int64_t> Rewrite::dims(std::string_view name, size_t rank) const {
  std::vector<int64_t> result;
  for (int64_t d : integers(name)) result.push_back(wrap_dim(d, rank));
  if (result.empty())
    for (size_t i = 0; i < rank; ++i) result.push_back(static_cast<int64_t>(i));
  std::sort(result.begin(), result.end());
  if (rank == 0) result.clear();
  return result;
}

}  // namespace litz
