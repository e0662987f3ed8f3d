#include "litz/graph/argument.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "litz/support/check.h"
#include "litz/support/literal_text.h"

namespace litz {
namespace {

std::optional<int64_t> read_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> read_float(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string read_quoted(std::string_view text) {
  if (text.size() < 2 || text.back() != text.front()) user_error("string without its closing quote: {}", text);
  return unescaped(text.substr(1, text.size() - 2));
}

constexpr std::pair<MemoryFormat, std::string_view> kMemoryFormats[] = {
    {MemoryFormat::kContiguous, "contiguous"},
    {MemoryFormat::kPreserve, "preserve"},
    {MemoryFormat::kChannelsLast, "channels_last"},
    {MemoryFormat::kChannelsLast3d, "channels_last_3d"},
};

Device read_device(std::string_view text) {
  Device device;
  const size_t colon = text.find(':');
  device.type = std::string(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    auto index = read_integer(text.substr(colon + 1));
    if (!index) user_error("device \"{}\": expected an index after the colon", text);
    device.index = static_cast<int>(*index);
  }
  return device;
}

}  // namespace

std::string device_text(const Device& device) { return device.index == 0 ? device.type : fmt::format("{}:{}", device.type, device.index); }

std::string argument_text(const Argument& argument) {
  struct Writer {
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return float_text(v); }
    std::string operator()(const std::complex<double>& v) const {
      return fmt::format("complex({}, {})", float_text(v.real()), float_text(v.imag()));
    }
    std::string operator()(Expr v) const { return to_string(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(DType v) const { return std::string(dtype_name(v)); }
    std::string operator()(const Device& v) const { return device_text(v); }
    std::string operator()(MemoryFormat v) const {
      for (auto [format, text] : kMemoryFormats)
        if (format == v) return std::string(text);
      LITZ_CHECK(false);
    }
    std::string operator()(Value v) const { return value_text(v); }
    std::string operator()(const ArgumentList& list) const {
      std::string text = "[";
      for (const Argument& a : list) text += (text.size() > 1 ? ", " : "") + argument_text(a);
      return text + "]";
    }
  };
  return std::visit(Writer(), static_cast<const Argument::variant&>(argument));
}

std::vector<std::string_view> split_top_level(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool in_quotes = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes) {
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (c == ',' && depth == 0) {
        parts.push_back(trimmed(text.substr(begin, i - begin)));
        begin = i + 1;
      }
    }
  }
  if (depth != 0 || in_quotes) user_error("brackets or quotes that do not match in \"{}\"", text);
  const std::string_view last = trimmed(text.substr(begin));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

Argument ArgumentReader::read(std::string_view text, ArgType type) const {
  text = trimmed(text);
  if (text.empty()) user_error("an argument is missing");
  if (text == "None") return None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.front() == '"' || text.front() == '\'') return read_quoted(text);
  if (text.front() == '%') {
    if (!value) user_error("a value ({}) cannot stand here", text);
    return value(text);
  }
  if (text.front() == '[') {
    if (text.back() != ']') user_error("list without its closing bracket: {}", text);
    ArgumentList list;
    for (std::string_view part : split_top_level(text.substr(1, text.size() - 2))) list.push_back(read(part, type));
    return list;
  }
  switch (type) {
    case ArgType::kDType:
      if (auto dtype = parse_dtype(text)) return *dtype;
      if (auto code = read_integer(text))
        if (auto dtype = dtype_from_torch_code(static_cast<int>(*code))) return *dtype;
      user_error("unknown element type \"{}\"", text);
    case ArgType::kDevice: return read_device(text);
    case ArgType::kMemoryFormat:
      for (auto [format, name] : kMemoryFormats)
        if (text == name || text == fmt::format("{}_format", name)) return format;
      user_error("unknown memory format \"{}\"", text);
    default: break;
  }
  if (auto integer = read_integer(text)) return *integer;
  if (auto number = read_float(text)) return *number;
  if (text.starts_with("complex(") && text.back() == ')') {
    auto parts = split_top_level(text.substr(8, text.size() - 9));
    if (parts.size() == 2) {
      auto real = read_float(parts[0]), imaginary = read_float(parts[1]);
      if (real && imaginary) return std::complex<double>(*real, *imaginary);
    }
    user_error("expected complex(real, imaginary), found {}", text);
  }
  if (!context) user_error("\"{}\" is no number, text, list, None, True or False", text);
  return parse_expr(*context, text);
}

Argument coerce_argument(const SchemaArgument& type, Argument argument) {
  if (type.is_list && type.list_size > 0 && !argument.is<ArgumentList>() && !argument.is<None>()) {
    ArgumentList list(type.list_size, argument);
    argument = std::move(list);
  }
  if (argument.is<ArgumentList>()) {
    SchemaArgument element = type;
    element.is_list = false;
    ArgumentList list = argument.as<ArgumentList>();
    for (Argument& a : list) a = coerce_argument(element, std::move(a));
    return list;
  }
  if (argument.is<Expr>()) {
    if (auto constant = argument.as<Expr>().as_integer()) argument = *constant;
  }
  if (type.type == ArgType::kFloat) {
    if (argument.is<int64_t>()) return static_cast<double>(argument.as<int64_t>());
    if (argument.is<bool>()) return argument.as<bool>() ? 1.0 : 0.0;
  }
  if ((type.type == ArgType::kInt || type.type == ArgType::kSymInt) && argument.is<bool>())
    return static_cast<int64_t>(argument.as<bool>());
  if (type.type == ArgType::kBool && argument.is<int64_t>()) return argument.as<int64_t>() != 0;
  return argument;
}

std::optional<Argument> default_argument(const SchemaArgument& argument) {
  if (!argument.has_default) return std::nullopt;
  return coerce_argument(argument, ArgumentReader{}.read(argument.default_text, argument.type));
}

bool same_argument(const Argument& a, const Argument& b) {
  if (a.index() != b.index()) return false;
  if (a.is<double>()) return std::bit_cast<int64_t>(a.as<double>()) == std::bit_cast<int64_t>(b.as<double>());
  if (a.is<std::complex<double>>()) {
    const auto x = a.as<std::complex<double>>(), y = b.as<std::complex<double>>();
    return same_argument(x.real(), y.real()) && same_argument(x.imag(), y.imag());
  }
  if (a.is<ArgumentList>()) {
    const auto &x = a.as<ArgumentList>(), &y = b.as<ArgumentList>();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same_argument(x[i], y[i])) return false;
    return true;
  }
  return std::visit(
      [&]<typename T>(const T& x) {
        if constexpr (std::is_same_v<T, ArgumentList> || std::is_same_v<T, None>) {
          return true;
        } else {
          return x == b.as<T>();
        }
      },
      static_cast<const Argument::variant&>(a));
}

bool has_complex(const Node& node) {
  bool found = false;
  for (const Argument& a : node.arguments) {
    for_each_value(a, [&](const Value& v) { found |= is_complex(v.meta().dtype); });
    found |= a.is<std::complex<double>>();
  }
  for (const TensorMeta& m : node.outputs) found |= !m.is_none && is_complex(m.dtype);
  return found;
}

}  // namespace litz
