#include "litz/support/literal_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace litz {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string unescaped(std::string_view inside) {
  std::string result;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      result += inside[i];
      continue;
    }
    const char c = inside[++i];
    if (c == 'n') {
      result += '\n';
    } else if (c == 't') {
      result += '\t';
    } else if (c == 'x' && i + 2 < inside.size()) {
      int value = 0;
      std::from_chars(inside.data() + i + 1, inside.data() + i + 3, value, 16);
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += c;
    }
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace litz
