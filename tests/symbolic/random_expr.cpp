#include "random_expr.h"

#include <algorithm>
#include <string_view>

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

namespace {

int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  // The ends more often than the middle.
  const auto choice = std::uniform_int_distribution<int64_t>(0, 5)(random);
  if (choice == 0) return low;
  if (choice == 1) return high;
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

}  // namespace

Universe::Point Universe::elsewhere_in_loops(const Point& point, std::mt19937& random) const {
  Point other = point;
  for (size_t k = 0; k < symbols.size(); ++k)
    if (Expr extent = symbols[k].extent()) other.values[k] = pick(random, 0, *evaluate(extent, point) - 1);
  return other;
}

Universe::Point Universe::random_point(std::mt19937& random, int64_t most) const {
  Point point;
  point.universe = this;
  for (Expr symbol : symbols) {
    int64_t low = symbol.range().lower, high = symbol.range().upper;
    if (Expr extent = symbol.extent()) {
      high = *evaluate(extent, point) - 1;
    } else {
      low = std::max(low, -most);
      high = std::min(high, most);
    }
    point.values.push_back(pick(random, low, high));
  }
  return point;
}

RandomExpr::Entry RandomExpr::constant(int64_t value) {
  nodes.push_back({'c', {}, value});
  return {universe_.context.integer(value), int(nodes.size()) - 1};
}

RandomExpr::Entry RandomExpr::symbol(size_t number) {
  nodes.push_back({'s', {}, int64_t(number)});
  return {universe_.symbols[number], int(nodes.size()) - 1};
}

RandomExpr::Entry RandomExpr::binary(char op, Entry first, Entry second) {
  Expr a = first.first, b = second.first;
  nodes.push_back({op, {first.second, second.second}, 0});
  int node = int(nodes.size()) - 1;
  switch (op) {
    case '+': return {a + b, node};
    case '*': return {a * b, node};
    case '/': return {floor_div(a, b), node};
    case '%': return {mod(a, b), node};
    case 'm': return {min(a, b), node};
    case 'M': return {max(a, b), node};
    case '<': return {lt(a, b), node};
    case 'l': return {le(a, b), node};
    default: return {eq(a, b), node};
  }
}

void RandomExpr::run_any(const std::vector<int>& program, std::vector<Entry>& stack) {
  auto push_leaf = [&](int step) {
    static constexpr int64_t kConstants[] = {0, 1, 2, 3, 4, 6, 12, -1, -3};
    size_t choice = size_t(step) % (universe_.symbols.size() + std::size(kConstants));
    stack.push_back(choice < universe_.symbols.size() ? symbol(choice) : constant(kConstants[choice - universe_.symbols.size()]));
  };
  constexpr std::string_view kBinary = "+++++++++++**********/////////%%%%%%%%%mmmMMM<<ll=";
  for (int step : program) {
    int choice = step % 100;
    if (choice < 45) {
      push_leaf(step / 100);
      continue;
    }
    int arity = choice >= 98 ? 3 : choice >= 95 ? 1 : 2;
    while (int(stack.size()) < arity) push_leaf(step / 100 + 7 * int(stack.size()));
    std::vector<Entry> args(stack.end() - arity, stack.end());
    Expr a = args[0].first;
    Entry result;
    if (arity == 1) {
      nodes.push_back({'n', {args[0].second}, 0});
      result = {-a, int(nodes.size()) - 1};
    } else if (arity == 3) {
      if (!(a.range().lower >= 0 && a.range().upper <= 1)) continue;
      nodes.push_back({'?', {args[0].second, args[1].second, args[2].second}, 0});
      result = {select(a, args[1].first, args[2].first), int(nodes.size()) - 1};
    } else {
      char op = kBinary[choice - 45];
      if ((op == '/' || op == '%') && args[1].first.is_integer(0)) continue;
      result = binary(op, args[0], args[1]);
    }
    stack.resize(stack.size() - arity);
    stack.push_back(result);
  }
}

RandomExpr::Entry RandomExpr::divisor(int choice) {
  static constexpr int64_t kConstants[] = {2, 3, 4, 6, 12};
  choice %= 14;
  if (choice < 5) return constant(kConstants[choice]);
  switch (choice) {
    case 5: return symbol(0);
    case 6: return symbol(1);
    case 7: return symbol(2);
    case 8: return binary('*', symbol(0), symbol(2));
    case 9: return binary('*', symbol(2), constant(4));
    case 10: return binary('+', symbol(1), symbol(2));
    case 11: return binary('*', symbol(0), constant(12));
    case 12: return binary('*', binary('*', symbol(0), symbol(1)), constant(3));
    default: return binary('+', symbol(2), constant(-1));
  }
}

void RandomExpr::run_index(const std::vector<int>& program, std::vector<Entry>& stack) {
  static constexpr int64_t kCoefficients[] = {1, 1, 1, 2, 3, 4, 12, 24, -1, -4};
  for (int step : program) {
    int choice = step % 10, detail = step / 10;
    if (choice < 4 || stack.empty()) {
      Entry term = symbol(3 + size_t(detail) % (universe_.symbols.size() - 3));
      detail /= 9;
      if (detail % 3 != 0) term = binary('*', term, divisor(detail / 3));
      detail /= 42;
      if (detail % 2) term = binary('*', term, constant(kCoefficients[detail / 2 % std::size(kCoefficients)]));
      stack.push_back(term);
    } else if (choice < 5) {
      stack.push_back(constant(detail % 30 - 6));
    } else if (choice < 7) {
      if (stack.size() < 2) continue;
      Entry b = stack.back();
      stack.pop_back();
      stack.back() = binary('+', stack.back(), b);
    } else if (choice < 9) {
      stack.back() = binary(choice == 7 ? '/' : '%', stack.back(), divisor(detail));
    } else {  // x // d * d + x % d, or with d*b and (x // d) % b
      Entry x = stack.back();
      Entry d = divisor(detail);
      Entry quotient = binary('/', x, d);
      if (detail / 14 % 2) quotient = binary('%', quotient, divisor(detail / 28));
      stack.back() = binary('+', binary('*', quotient, d), binary('%', x, d));
    }
  }
}

RandomExpr::RandomExpr(Universe& universe, const std::vector<int>& program, Style style) : universe_(universe) {
  std::vector<Entry> stack;
  if (style == Style::kAny) run_any(program, stack);
  else run_index(program, stack);
  if (stack.empty()) stack.push_back(symbol(0));
  // What is left on the stack is added up.
  while (stack.size() > 1) {
    Entry b = stack.back();
    stack.pop_back();
    stack.back() = binary('+', stack.back(), b);
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
