#include "litz/graph/schema.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "litz/support/check.h"

namespace litz {
namespace {

struct TypeName {
  std::string_view text;
  ArgType type;
};
constexpr TypeName kTypeNames[] = {
    {"Tensor", ArgType::kTensor},       {"Scalar", ArgType::kScalar}, {"int", ArgType::kInt},
    {"SymInt", ArgType::kSymInt},       {"float", ArgType::kFloat},   {"bool", ArgType::kBool},
    {"complex", ArgType::kComplex},     {"str", ArgType::kString},    {"ScalarType", ArgType::kDType},
    {"Device", ArgType::kDevice},       {"Layout", ArgType::kLayout}, {"MemoryFormat", ArgType::kMemoryFormat},
    {"Generator", ArgType::kGenerator}, {"number", ArgType::kScalar},
};

/// Random ops without a generator argument, by name without the overload.
constexpr std::string_view kRandomOps[] = {
    "aten.native_dropout", "aten.rand",     "aten.rand_like",      "aten.randn",   "aten.randn_like", "aten.randint",
    "aten.randint_like",   "aten.randperm", "aten.bernoulli",      "aten.dropout", "aten.normal",     "aten.multinomial",
    "aten.poisson",        "aten.binomial", "aten._fused_dropout", "prims.normal", "aten.rrelu",
};
/// Ops with results that must run all the same.
constexpr std::string_view kEffectOps[] = {
    "aten._functional_assert_async",
    "aten._functional_sym_constrain_range",
    "aten._functional_sym_constrain_range_for_size",
};

std::string_view without_overload(std::string_view name) {
  const size_t first = name.find('.');
  return name.substr(0, name.find('.', first + 1));
}

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

struct ParsedType {
  ArgType type = ArgType::kOther;
  bool is_list = false, is_optional = false, has_optional_elements = false, is_written = false;
  int list_size = 0;
  std::string alias_set, text;
};

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  std::unique_ptr<OpSchema> parse() {
    auto schema = std::make_unique<OpSchema>();
    schema->text = std::string(text_);
    skip_space();
    const size_t begin = pos_;
    while (pos_ < text_.size() && text_[pos_] != '(') ++pos_;
    schema->name = canonical_op_name(text_.substr(begin, pos_ - begin));
    if (schema->name.empty()) fail("an op name");
    expect("(");
    bool kwarg_only = false;
    while (!accept(")")) {
      if (accept("*")) {
        kwarg_only = true;
      } else {
        schema->arguments.push_back(parse_argument(kwarg_only));
      }
      if (!accept(",") && peek() != ')') fail("',' or ')'");
    }
    expect("->");
    if (accept("(")) {
      while (!accept(")")) {
        schema->returns.push_back(parse_return());
        if (!accept(",") && peek() != ')') fail("',' or ')'");
      }
    } else {
      schema->returns.push_back(parse_return());
    }
    skip_space();
    if (pos_ != text_.size()) fail("the end");
    derive_traits(*schema);
    return schema;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) { user_error("schema \"{}\": expected {} at column {}", text_, expected, pos_ + 1); }
  void skip_space() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  char peek() {
    skip_space();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }
  std::string identifier() {
    skip_space();
    const size_t begin = pos_;
    while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_' || text_[pos_] == '.'))
      ++pos_;
    if (begin == pos_) fail("a name");
    return std::string(text_.substr(begin, pos_ - begin));
  }

  void parse_alias(ParsedType& type) {
    // (a), (a!), (a -> *), (a|b), (a! -> a|b)
    expect("(");
    const size_t begin = pos_;
    while (pos_ < text_.size() && text_[pos_] != ')') ++pos_;
    std::string_view inside = text_.substr(begin, pos_ - begin);
    expect(")");
    type.is_written = inside.find('!') != std::string_view::npos;
    const size_t end = inside.find_first_of("!| ");
    type.alias_set = std::string(inside.substr(0, end));
  }

  ParsedType parse_type() {
    ParsedType type;
    skip_space();
    const size_t begin = pos_;
    const std::string base = identifier();
    for (const TypeName& t : kTypeNames)
      if (t.text == base) type.type = t.type;
    if (base == "Dict" || base == "Tuple" || base == "Future") {
      int depth = 0;
      do {
        if (peek() == '(') ++depth;
        if (peek() == ')') --depth;
        ++pos_;
        if (pos_ > text_.size()) fail("')'");
      } while (depth > 0);
    }
    bool optional = false;
    for (;;) {
      const char c = pos_ < text_.size() ? text_[pos_] : '\0';
      if (c == '?') {
        ++pos_;
        optional = true;
      } else if (c == '[') {
        ++pos_;
        type.is_list = true;
        type.has_optional_elements = optional;
        optional = false;
        while (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_])))
          type.list_size = type.list_size * 10 + (text_[pos_++] - '0');
        expect("]");
      } else if (c == '(') {
        parse_alias(type);
      } else {
        break;
      }
    }
    type.is_optional = optional;
    type.text = std::string(text_.substr(begin, pos_ - begin));
    return type;
  }

  SchemaArgument parse_argument(bool kwarg_only) {
    ParsedType t = parse_type();
    SchemaArgument a;
    a.type = t.type;
    a.is_list = t.is_list;
    a.list_size = t.list_size;
    a.is_optional = t.is_optional;
    a.has_optional_elements = t.has_optional_elements;
    a.alias_set = std::move(t.alias_set);
    a.is_written = t.is_written;
    a.type_text = std::move(t.text);
    a.name = identifier();
    a.is_kwarg_only = kwarg_only;
    if (accept("=")) {
      a.has_default = true;
      skip_space();
      const size_t begin = pos_;
      int depth = 0;
      bool quoted = false;
      for (; pos_ < text_.size(); ++pos_) {
        const char c = text_[pos_];
        if (c == '"' || c == '\'') quoted = !quoted;
        if (quoted) continue;
        if (c == '[' || c == '(') ++depth;
        if (depth == 0 && (c == ',' || c == ')')) break;
        if (c == ']' || c == ')') --depth;
      }
      a.default_text = std::string(text_.substr(begin, pos_ - begin));
    }
    return a;
  }

  SchemaReturn parse_return() {
    ParsedType t = parse_type();
    SchemaReturn r;
    r.type = t.type;
    r.is_list = t.is_list;
    r.alias_set = std::move(t.alias_set);
    r.is_written = t.is_written;
    r.type_text = std::move(t.text);
    if (peek() != ',' && peek() != ')' && peek() != '\0') identifier();
    return r;
  }

  static void derive_traits(OpSchema& schema) {
    bool has_generator = false;
    for (const auto& a : schema.arguments) {
      schema.is_mutating |= a.is_written;
      has_generator |= a.type == ArgType::kGenerator;
    }
    for (const auto& r : schema.returns) schema.is_view |= !r.alias_set.empty() && !r.is_written;
    schema.is_random = has_generator || contains(kRandomOps, without_overload(schema.name));
    schema.has_effect = (schema.returns.empty() && !schema.is_mutating) || contains(kEffectOps, without_overload(schema.name));
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

int OpSchema::argument_index(std::string_view argument) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == argument) return static_cast<int>(i);
  return -1;
}

std::unique_ptr<OpSchema> parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

std::string canonical_op_name(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 2) == "::") {
      result += '.';
      ++i;
    } else if (!std::isspace(static_cast<unsigned char>(name[i]))) {
      result += name[i];
    }
  }
  constexpr std::string_view kDefault = ".default";
  if (result.size() > kDefault.size() && result.ends_with(kDefault)) result.resize(result.size() - kDefault.size());
  return result;
}

}  // namespace litz
