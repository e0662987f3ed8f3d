#include "litz/loop/argument_text.h"

#include "litz/support/literal_text.h"

namespace litz {
namespace {

constexpr std::pair<MemoryFormat, std::string_view> kFormats[] = {
    {MemoryFormat::kContiguous, "contiguous"},
    {MemoryFormat::kPreserve, "preserve"},
    {MemoryFormat::kChannelsLast, "channels_last"},
    {MemoryFormat::kChannelsLast3d, "channels_last_3d"},
};

double as_double(std::variant<int64_t, double> number) {
  return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

}  // namespace

std::string scalar_text(const ScalarArgument& argument, const std::function<std::string(Expr)>& expr_text) {
  struct Writer {
    const std::function<std::string(Expr)>& expr_text;
    std::string operator()(None) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return float_text(v); }
    std::string operator()(std::complex<double> v) const {
      return fmt::format("complex({}, {})", float_text(v.real()), float_text(v.imag()));
    }
    std::string operator()(Expr e) const { return fmt::format("({})", expr_text(e)); }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(DType d) const { return fmt::format("dtype {}", dtype_name(d)); }
    std::string operator()(const Device& d) const { return fmt::format("device {} {}", d.type, d.index); }
    std::string operator()(MemoryFormat f) const {
      for (auto [format, name] : kFormats)
        if (format == f) return fmt::format("format {}", name);
      LITZ_CHECK(false);
    }
  };
  return std::visit(Writer{expr_text}, argument);
}

ScalarArgument parse_scalar(ExprContext& context, TextCursor& c, const SymbolLookup& lookup) {
  if (c.accept("none")) return None{};
  if (c.accept("true")) return true;
  if (c.accept("false")) return false;
  if (c.accept("dtype")) {
    if (auto dtype = parse_dtype(c.word())) return *dtype;
    c.fail("an element type before here");
  }
  if (c.accept("device")) {
    Device d;
    d.type = c.word();
    d.index = static_cast<int>(c.integer());
    return d;
  }
  if (c.accept("format")) {
    for (auto [format, name] : kFormats)
      if (c.accept(name)) return format;
    c.fail("contiguous, preserve, channels_last or channels_last_3d");
  }
  if (c.accept("complex")) {
    c.expect("(");
    const double real = as_double(c.number());
    c.expect(",");
    const double imaginary = as_double(c.number());
    c.expect(")");
    return std::complex<double>(real, imaginary);
  }
  if (c.accept("(")) {
    const Expr e = parse_expr(context, c, lookup);
    c.expect(")");
    return e;
  }
  if (c.next() == '"') return c.quoted();
  return std::visit([](auto v) -> ScalarArgument { return v; }, c.number());
}

std::string schema_text(const OpSchema& schema) {
  return fmt::format("{}{}{}", schema.is_random ? "random " : "", schema.has_effect ? "effect " : "", quoted(schema.text));
}

std::unique_ptr<OpSchema> parse_schema_text(TextCursor& c) {
  const bool is_random = c.accept("random"), has_effect = c.accept("effect");
  const std::string text = c.quoted();
  std::unique_ptr<OpSchema> schema;
  try {
    schema = parse_schema(text);
  } catch (const UserError& error) { c.refuse(error.what()); }
  schema->is_random = is_random;
  schema->has_effect = has_effect;
  return schema;
}

}  // namespace litz
