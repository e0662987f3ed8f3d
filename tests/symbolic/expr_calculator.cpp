// Expressions for other programs to compare with: reads a command a line, writes a line for each that answers.
//   size NAME LOWER UPPER     a size; bounds "inf" and "-inf" are allowed
//   axis NAME EXTENT          a loop variable
//   show EXPR                 the simplified text
//   same EXPR ; EXPR          1 when both are one node
//   value EXPR ; NAME=V ...   the value of the simplified expression, or "none"
#include <iostream>
#include <sstream>
#include <string>

#include "litz/support/check.h"
#include "litz/symbolic/expr.h"

namespace {

int64_t bound(const std::string& text) {
  if (text == "inf") return litz::kIntInf;
  if (text == "-inf") return -litz::kIntInf;
  return std::stoll(text);
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
  if (command == "value") {
    std::optional<int64_t> value = evaluate(litz::parse_expr(context, left), [&](litz::Expr symbol) -> std::optional<int64_t> {
      std::istringstream assignments(right);
      std::string assignment;
      while (assignments >> assignment) {
        size_t equals = assignment.find('=');
        if (assignment.substr(0, equals) == symbol.symbol_name()) return std::stoll(assignment.substr(equals + 1));
      }
      return std::nullopt;
    });
    return value ? std::to_string(*value) : "none";
  }
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
