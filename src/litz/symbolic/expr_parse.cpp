// Recursive descent over Python's expression grammar, as far as expressions of integers need it.
#include <cctype>
#include <charconv>

#include "litz/symbolic/expr_context.h"
#include "litz/symbolic/expr_text.h"

namespace litz {
namespace {

struct Function {
  std::string_view name;
  int arity;  // -1: one or more, folded from the left
  Expr (*apply)(std::span<const Expr>);
  int conditions = 0;    // the first operands that must be conditions
  bool divides = false;  // by its operands from the second on
};

// Our names, Python's, SymPy's and PyTorch's (torch.utils._sympy.functions).
constexpr Function kFunctions[] = {
    {"min", -1, [](std::span<const Expr> a) { return min(a[0], a[1]); }},
    {"Min", -1, [](std::span<const Expr> a) { return min(a[0], a[1]); }},
    {"max", -1, [](std::span<const Expr> a) { return max(a[0], a[1]); }},
    {"Max", -1, [](std::span<const Expr> a) { return max(a[0], a[1]); }},
    {"And", -1, [](std::span<const Expr> a) { return logical_and(a[0], a[1]); }, 2},
    {"Or", -1, [](std::span<const Expr> a) { return logical_or(a[0], a[1]); }, 2},
    {"Not", 1, [](std::span<const Expr> a) { return logical_not(a[0]); }, 1},
    {"select", 3, [](std::span<const Expr> a) { return select(a[0], a[1], a[2]); }, 1},
    {"Where", 3, [](std::span<const Expr> a) { return select(a[0], a[1], a[2]); }, 1},
    {"Mod", 2, [](std::span<const Expr> a) { return mod(a[0], a[1]); }, 0, true},
    {"PythonMod", 2, [](std::span<const Expr> a) { return mod(a[0], a[1]); }, 0, true},
    {"FloorDiv", 2, [](std::span<const Expr> a) { return floor_div(a[0], a[1]); }, 0, true},
    {"CleanDiv", 2, [](std::span<const Expr> a) { return floor_div(a[0], a[1]); }, 0, true},
    {"CeilDiv", 2, [](std::span<const Expr> a) { return ceil_div(a[0], a[1]); }, 0, true},
    {"ModularIndexing", 3, [](std::span<const Expr> a) { return mod(floor_div(a[0], a[1]), a[2]); }, 0, true},
    {"Eq", 2, [](std::span<const Expr> a) { return eq(a[0], a[1]); }},
    {"Ne", 2, [](std::span<const Expr> a) { return ne(a[0], a[1]); }},
    {"Lt", 2, [](std::span<const Expr> a) { return lt(a[0], a[1]); }},
    {"Le", 2, [](std::span<const Expr> a) { return le(a[0], a[1]); }},
    {"Gt", 2, [](std::span<const Expr> a) { return lt(a[1], a[0]); }},
    {"Ge", 2, [](std::span<const Expr> a) { return le(a[1], a[0]); }},
};

constexpr int kMaxDepth = 200;  // of parentheses and signs: recursion stays on the stack

class Parser {
 public:
  Parser(ExprContext& context, std::string_view text) : context_(context), text_(text) {}
  /// Reads as far as the expression goes.
  Parser(ExprContext& context, TextCursor& cursor, const SymbolLookup& lookup)
      : context_(context),
        text_(cursor.rest()),
        cursor_(&cursor),
        begin_(cursor.position()),
        lookup_(lookup) {}

  Expr parse() {
    Expr result = disjunction();
    if (cursor_) {
      cursor_->move_to(begin_ + at_);
      return result;
    }
    skip_space();
    if (at_ != text_.size()) fail("expected an operator or the end");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view what) {
    const std::string_view found = text_.substr(std::min(at_, text_.size()), 12);
    if (cursor_) {
      cursor_->move_to(begin_ + at_);
      cursor_->refuse(fmt::format("{}, found '{}'", what, found));
    }
    user_error("expression '{}', column {}: {}, found '{}'", text_, at_ + 1, what, found);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  static bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    size_t end = at_ + token.size();
    if (is_name_char(token[0]) && end < text_.size() && is_name_char(text_[end])) return false;
    at_ = end;
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected '{}'", token));
  }

  Expr disjunction() {
    Expr result = conjunction();
    while (take("or")) result = logical_or(condition(result), condition(conjunction()));
    return result;
  }

  Expr conjunction() {
    Expr result = negation();
    while (take("and")) result = logical_and(condition(result), condition(negation()));
    return result;
  }

  Expr negation() {
    bool is_negated = false;
    while (take("not")) is_negated = !is_negated;
    return is_negated ? logical_not(condition(comparison())) : comparison();
  }

  Expr comparison() {
    Expr left = additive();
    if (take("==")) return eq(left, additive());
    if (take("!=")) return ne(left, additive());
    if (take("<=")) return le(left, additive());
    if (take(">=")) return le(additive(), left);
    if (take("<")) return lt(left, additive());
    if (take(">")) return lt(additive(), left);
    return left;
  }

  Expr additive() {
    Expr result = multiplicative();
    for (;;) {
      if (take("+")) result = result + multiplicative();
      else if (!at_arrow() && take("-")) result = result - multiplicative();
      else return result;
    }
  }

  bool at_arrow() {
    skip_space();
    return text_.substr(at_, 2) == "->";
  }

  Expr multiplicative() {
    Expr result = unary();
    for (;;) {
      skip_space();
      if (text_.substr(at_, 2) == "**") fail("a power is written after its base");
      if (take("*")) result = result * unary();
      else if (take("//")) result = divide(result, unary(), floor_div);
      else if (take("%")) result = divide(result, unary(), mod);
      else return result;
    }
  }

  Expr divide(Expr a, Expr b, Expr (*operation)(Expr, Expr)) { return operation(a, divisor(b)); }

  Expr divisor(Expr e) {
    if (e.is_integer(0)) fail("division by zero before here");
    return e;
  }

  Expr condition(Expr e) {
    if (e.range().lower < 0 || e.range().upper > 1) fail("expected a condition before here");
    return e;
  }

  Expr unary() {
    if (++depth_ > kMaxDepth) fail("expected an expression that is nested less deeply");
    Expr result = take("-") ? -unary() : take("+") ? unary() : power();
    --depth_;
    return result;
  }

  Expr power() {
    Expr base = atom();
    if (!take("**")) return base;
    Expr exponent = atom();
    if (!exponent.is_integer() || exponent.integer() < 0 || exponent.integer() > 64) fail("expected a small integer exponent before here");
    Expr result = context_.integer(1);
    for (int64_t i = 0; i < exponent.integer(); ++i) result = result * base;
    return result;
  }

  Expr atom() {
    skip_space();
    if (at_ == text_.size()) fail("expected an operand");
    if (take("(")) {
      Expr inner = disjunction();
      expect(")");
      return inner;
    }
    char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c))) {
      int64_t value = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) fail("expected an integer of 64 bits");
      at_ = end - text_.data();
      return context_.integer(value);
    }
    if (!is_name_char(c)) fail("expected an operand");
    size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    if (name == "True" || name == "true") return context_.integer(1);
    if (name == "False" || name == "false") return context_.integer(0);
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') {
      for (const Function& function : kFunctions)
        if (function.name == name) return call(function);
      at_ = start;
      fail(fmt::format("no function '{}'", name));
    }
    if (Expr symbol = lookup_ ? lookup_(name) : context_.find_symbol(name)) return symbol;
    at_ = start;
    fail(fmt::format("no symbol '{}'", name));
  }

  Expr call(const Function& function) {
    expect("(");
    std::vector<Expr> arguments{disjunction()};
    while (take(",")) arguments.push_back(disjunction());
    expect(")");
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (function.arity < 0 ? function.conditions > 0 : static_cast<int>(i) < function.conditions) condition(arguments[i]);
      if (function.divides && i > 0) divisor(arguments[i]);
    }
    if (function.arity < 0) {
      Expr result = arguments[0];
      for (size_t i = 1; i < arguments.size(); ++i) {
        Expr pair[] = {result, arguments[i]};
        result = function.apply(pair);
      }
      return result;
    }
    if (arguments.size() != size_t(function.arity))
      fail(fmt::format("{} takes {} arguments and has {} before here", function.name, function.arity, arguments.size()));
    return function.apply(arguments);
  }

  ExprContext& context_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  TextCursor* cursor_ = nullptr;
  size_t begin_ = 0;  // of text_ in the cursor's line
  SymbolLookup lookup_;
};

}  // namespace

Expr parse_expr(ExprContext& context, std::string_view text) { return Parser(context, text).parse(); }

Expr parse_expr(ExprContext& context, TextCursor& cursor, const SymbolLookup& lookup) {
  try {
    return Parser(context, cursor, lookup).parse();
  } catch (const ExprOverflow& overflow) { cursor.refuse(overflow.what()); } catch (const InternalError& error) {
    cursor.refuse(error.what());
  }
}

}  // namespace litz
