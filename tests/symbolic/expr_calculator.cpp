// Expressions for other programs to compare with: reads a command a line, writes a line for each that answers.
//   size NAME LOWER UPPER     a size; bounds "inf" and "-inf" are allowed
//   axis NAME EXTENT          a loop variable
//   show EXPR                 the simplified text
//   same EXPR ; EXPR          1 when both are one node
//   value EXPR ; NAME=V ...   the value of the simplified expression, or "none"
//   number DEFINITION ; NAME=V ...   the value of what is computed with floats; behind "undefined" where Python raises
#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <sstream>
#include <string>

#include "litz/support/check.h"
#include "litz/symbolic/bytecode.h"
#include "litz/symbolic/computed.h"
#include "litz/symbolic/expr.h"

namespace {

int64_t bound(const std::string& text) {
  if (text == "inf") return litz::kIntInf;
  if (text == "-inf") return -litz::kIntInf;
  return std::stoll(text);
}

/// The value of a definition: as the compiler evaluates it, which must be what the run time does.
std::string number(litz::ExprContext& context, const std::string& text, const std::function<std::optional<int64_t>(litz::Expr)>& given) {
  static int count = 0;
  const litz::Expr symbol = litz::computed_symbol(context, "n" + std::to_string(++count), litz::parse_definition(context, text), {});
  const litz::Definition& definition = *litz::definition_of(symbol);
  if (litz::to_text(litz::parse_definition(context, litz::to_text(definition))) != litz::to_text(definition)) return "text differs";
  const std::vector<litz::Expr> bases = litz::base_symbols(symbol);
  std::vector<int64_t> values;
  for (litz::Expr base : bases) values.push_back(given(base).value());
  const litz::Expr outputs[] = {symbol};
  const litz::ExprProgram program = litz::compile_exprs(outputs, bases);
  int64_t at_run_time = 0, checked = 0;
  const bool fits = litz::evaluate(program, values.data(), &at_run_time);
  const bool is_defined = litz::evaluate_checked(program, values.data(), &checked);
  const std::optional<int64_t> value = evaluate(symbol, given);
  if (value.has_value() != is_defined || (value && (*value != at_run_time || *value != checked))) return "the run time differs";
  const std::string shown = litz::is_float(symbol) ? fmt::format("{:a}", litz::float_of_word(at_run_time)) : std::to_string(at_run_time);
  return is_defined ? shown : "undefined " + shown;
}

std::string answer(litz::ExprContext& context, const std::string& command, const std::string& rest) {
  std::istringstream words(rest);
  size_t semicolon = rest.find(';');
  std::string left = rest.substr(0, semicolon), right = semicolon == std::string::npos ? "" : rest.substr(semicolon + 1);
  if (command == "size") {
    std::string name, lower, upper;
    words >> name >> lower >> upper;
    context.symbol(name, litz::SymbolKind::kSize, {bound(lower), bound(upper)});
    return "";
  }
  if (command == "axis") {
    std::string name, extent;
    words >> name;
    std::getline(words, extent);
    context.axis(name, litz::parse_expr(context, extent));
    return "";
  }
  if (command == "show") return to_string(litz::parse_expr(context, rest));
  if (command == "same") return litz::parse_expr(context, left) == litz::parse_expr(context, right) ? "1" : "0";
  auto given = [&](litz::Expr symbol) -> std::optional<int64_t> {
    std::istringstream assignments(right);
    std::string assignment;
    while (assignments >> assignment) {
      size_t equals = assignment.find('=');
      if (assignment.substr(0, equals) == symbol.symbol_name()) return std::stoll(assignment.substr(equals + 1));
    }
    return std::nullopt;
  };
  if (command == "value") {
    std::optional<int64_t> value = evaluate(litz::parse_expr(context, left), given);
    return value ? std::to_string(*value) : "none";
  }
  if (command == "number") return number(context, left, given);
  litz::user_error("no command '{}'", command);
}

}  // namespace

int main() {
  litz::ExprContext context;
  std::string line;
  while (std::getline(std::cin, line)) {
    size_t space = line.find(' ');
    try {
      std::string text = answer(context, line.substr(0, space), line.substr(space + 1));
      if (!text.empty()) std::cout << text << "\n";
    } catch (const litz::UserError& error) { std::cout << "error: " << error.what() << "\n"; }
  }
}
