#include "random_expr.h"

#include <algorithm>

namespace litz::testing_support {

Universe::Universe() {
  Expr s0 = context.symbol("s0", SymbolKind::kSize, {2, 6});
  Expr s1 = context.symbol("s1", SymbolKind::kSize, {1, 5});
  Expr s2 = context.symbol("s2", SymbolKind::kSize, {2, kIntInf});
  Expr u0 = context.symbol("u0", SymbolKind::kUnbacked, {-9, 13});
  Expr u1 = context.symbol("u1", SymbolKind::kUnbacked, {-kIntInf, kIntInf});
  symbols = {s0, s1, s2, u0, u1};
  symbols.push_back(context.axis("i0", context.integer(4)));
  symbols.push_back(context.axis("i1", context.integer(12)));
  symbols.push_back(context.axis("i2", s0));
  symbols.push_back(context.axis("i3", s2));
  symbols.push_back(context.axis("i4", s0 * s2));
  symbols.push_back(context.axis("i5", s2 * 4));
  symbols.push_back(context.indirect("j0", s1 + s2));
}

std::optional<int64_t> Universe::Point::operator()(Expr symbol) const {
  auto at = std::find(universe->symbols.begin(), universe->symbols.end(), symbol);
  if (at == universe->symbols.end()) return std::nullopt;
  return values[at - universe->symbols.begin()];
}

Universe::Point Universe::random_point(std::mt19937& random) const {
  Point point;
  point.universe = this;
  auto pick = [&](int64_t low, int64_t high) {
    // The ends more often than the middle.
    int64_t choice = std::uniform_int_distribution<int64_t>(0, 5)(random);
    if (choice == 0) return low;
    if (choice == 1) return high;
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (Expr symbol : symbols) {
    int64_t low = symbol.range().lower, high = symbol.range().upper;
    if (Expr extent = symbol.extent()) {
      high = *evaluate(extent, point) - 1;
    } else {
      low = std::max<int64_t>(low, -20);
      high = std::min<int64_t>(high, 20);
    }
    point.values.push_back(pick(low, high));
  }
  return point;
}

RandomExpr::RandomExpr(Universe& universe, const std::vector<int>& program) {
  std::vector<std::pair<Expr, int>> stack;
  ExprContext& context = universe.context;
  auto push = [&](Expr e, Tree tree) {
    nodes.push_back(std::move(tree));
    stack.push_back({e, int(nodes.size()) - 1});
  };
  auto push_leaf = [&](int step) {
    static constexpr int64_t kConstants[] = {0, 1, 2, 3, 4, 6, 12, -1, -3};
    size_t choice = size_t(step) % (universe.symbols.size() + std::size(kConstants));
    if (choice < universe.symbols.size()) push(universe.symbols[choice], {'s', {}, int64_t(choice)});
    else push(context.integer(kConstants[choice - universe.symbols.size()]), {'c', {}, kConstants[choice - universe.symbols.size()]});
  };
  for (int step : program) {
    int choice = step % 100;
    if (choice < 45) {
      push_leaf(step / 100);
      continue;
    }
    int arity = choice >= 98 ? 3 : choice >= 95 ? 1 : 2;
    while (int(stack.size()) < arity) push_leaf(step / 100 + 7 * int(stack.size()));
    std::vector<std::pair<Expr, int>> args(stack.end() - arity, stack.end());
    Expr a = args[0].first, b = args[arity > 1 ? 1 : 0].first;
    char op;
    if (choice < 56) op = '+';
    else if (choice < 66) op = '*';
    else if (choice < 75) op = '/';
    else if (choice < 84) op = '%';
    else if (choice < 87) op = 'm';
    else if (choice < 90) op = 'M';
    else if (choice < 92) op = '<';
    else if (choice < 94) op = 'l';
    else if (choice < 95) op = '=';
    else if (choice < 98) op = 'n';
    else op = '?';
    bool divides = op == '/' || op == '%';
    if (divides && b.is_integer(0)) continue;
    if (op == '?' && !(a.range().lower >= 0 && a.range().upper <= 1)) continue;
    Expr result;
    switch (op) {
      case '+': result = a + b; break;
      case '*': result = a * b; break;
      case '/': result = floor_div(a, b); break;
      case '%': result = mod(a, b); break;
      case 'm': result = min(a, b); break;
      case 'M': result = max(a, b); break;
      case '<': result = lt(a, b); break;
      case 'l': result = le(a, b); break;
      case '=': result = eq(a, b); break;
      case 'n': result = -a; break;
      case '?': result = select(a, b, args[2].first); break;
    }
    std::vector<int> children;
    for (auto& [expr, node] : args) children.push_back(node);
    stack.resize(stack.size() - arity);
    push(result, {op, children});
  }
  if (stack.empty()) push_leaf(0);
  // What is left on the stack is added up.
  while (stack.size() > 1) {
    auto [b, node_b] = stack.back();
    stack.pop_back();
    auto [a, node_a] = stack.back();
    stack.pop_back();
    push(a + b, {'+', {node_a, node_b}});
  }
  expr = stack[0].first;
}

std::optional<int64_t> RandomExpr::reference(const Universe::Point& point) const {
  // 128 bits and a bound on the size of every value: a program that leaves 64 bits has no meaning to compare with.
  __extension__ using Wide = __int128;
  constexpr Wide kLimit = Wide(1) << 60;
  std::vector<std::optional<Wide>> values;
  for (const Tree& node : nodes) {
    auto child = [&](int i) { return values[node.children[i]]; };
    std::optional<Wide> result;
    if (node.op == 'c') {
      result = node.value;
    } else if (node.op == 's') {
      result = point.values[node.value];
    } else if (node.op == 'n') {
      if (child(0)) result = -*child(0);
    } else if (node.op == '?') {
      // The branch not taken may divide by zero; expressions do not promise that it may, so both must have a value.
      if (child(0) && child(1) && child(2)) result = *child(0) ? child(1) : child(2);
    } else if (child(0) && child(1)) {
      Wide a = *child(0), b = *child(1);
      switch (node.op) {
        case '+': result = a + b; break;
        case '*': result = a * b; break;
        case 'm': result = std::min(a, b); break;
        case 'M': result = std::max(a, b); break;
        case '<': result = a < b; break;
        case 'l': result = a <= b; break;
        case '=': result = a == b; break;
        default:
          if (b == 0) break;
          Wide floor = a / b;
          if (a % b != 0 && ((a < 0) != (b < 0))) floor -= 1;
          result = node.op == '/' ? floor : a - floor * b;
      }
    }
    if (result && (*result > kLimit || *result < -kLimit)) result.reset();
    values.push_back(result);
  }
  // A part without a value makes the whole meaningless, also where it would be multiplied away.
  for (const auto& value : values)
    if (!value) return std::nullopt;
  return int64_t(*values.back());
}

std::string RandomExpr::text(int index) const {
  const Tree& node = nodes[index];
  auto child = [&](int i) { return text(node.children[i]); };
  switch (node.op) {
    case 'c': return "(" + std::to_string(node.value) + ")";
    case 's': {
      static const char* kNames[] = {"s0", "s1", "s2", "u0", "u1", "i0", "i1", "i2", "i3", "i4", "i5", "j0"};
      return kNames[node.value];
    }
    case 'n': return "(-" + child(0) + ")";
    case '?': return "select(" + child(0) + ", " + child(1) + ", " + child(2) + ")";
    case 'm': return "min(" + child(0) + ", " + child(1) + ")";
    case 'M': return "max(" + child(0) + ", " + child(1) + ")";
    case '/': return "(" + child(0) + " // " + child(1) + ")";
    case 'l': return "(" + child(0) + " <= " + child(1) + ")";
    case '=': return "(" + child(0) + " == " + child(1) + ")";
    default: return "(" + child(0) + " " + node.op + " " + child(1) + ")";
  }
}

}  // namespace litz::testing_support
