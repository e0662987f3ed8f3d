// Reading a node's arguments.
#include "litz/lower/lowering.h"

namespace litz {

View Arguments::tensor(std::string_view name) const { return lowering_.view((*this)[name].as<Value>()); }

std::optional<View> Arguments::optional_tensor(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return tensor(name);
}

bool Arguments::boolean(std::string_view name) const {
  const Argument& a = (*this)[name];
  if (auto* i = std::get_if<int64_t>(&a)) return *i != 0;
  return a.as<bool>();
}

int64_t Arguments::integer(std::string_view name) const {
  const Argument& a = (*this)[name];
  if (auto* e = std::get_if<Expr>(&a)) return e->integer();
  if (auto* b = std::get_if<bool>(&a)) return *b;
  return a.as<int64_t>();
}

std::optional<int64_t> Arguments::optional_integer(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return integer(name);
}

Expr Arguments::expr(std::string_view name) const {
  const Argument& a = (*this)[name];
  if (auto* e = std::get_if<Expr>(&a)) return *e;
  return lowering_.integer(integer(name));
}

double Arguments::real(std::string_view name) const {
  const Argument& a = (*this)[name];
  if (auto* d = std::get_if<double>(&a)) return *d;
  return static_cast<double>(integer(name));
}

std::vector<int64_t> Arguments::integers(std::string_view name) const {
  std::vector<int64_t> result;
  for (Expr e : exprs(name)) result.push_back(e.integer());
  return result;
}

std::vector<Expr> Arguments::exprs(std::string_view name) const {
  std::vector<Expr> result;
  const Argument& a = (*this)[name];
  if (a.is<None>()) return result;
  if (!a.is<ArgumentList>()) return {expr(name)};
  for (const Argument& element : a.as<ArgumentList>()) {
    if (auto* e = std::get_if<Expr>(&element)) result.push_back(*e);
    else result.push_back(lowering_.integer(element.as<int64_t>()));
  }
  return result;
}

std::string Arguments::string(std::string_view name) const { return (*this)[name].as<std::string>(); }

int Arguments::wrap_dim(int64_t dim, size_t rank) {
  int64_t dims = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  LITZ_CHECK(dim >= -dims && dim < dims, "dimension {} of {}", dim, rank);
  return static_cast<int>(dim < 0 ? dim + dims : dim);
}

Expr element_count(ExprContext& context, std::span<const Expr> sizes) { return product(context, sizes); }

}  // namespace litz
