#include "litz/support/text_cursor.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "litz/support/check.h"
#include "litz/support/literal_text.h"

namespace litz {
namespace {

constexpr size_t kShown = 20;  // characters of what was found

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

void TextCursor::fail(std::string_view expected) {
  const std::string_view found = rest();
  refuse(fmt::format("expected {}, found {}", expected,
                     found.empty() ? "the end of the line" : fmt::format("\"{}\"", found.substr(0, kShown))));
}

void TextCursor::refuse(std::string_view message) const { user_error("{}, line {}, column {}: {}", level_, line_, position_ + 1, message); }

void TextCursor::skip() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\r')) ++position_;
}

size_t TextCursor::indent() const { return std::min(text_.find_first_not_of(' '), text_.size()); }

std::string_view TextCursor::rest() {
  skip();
  return text_.substr(position_);
}

bool TextCursor::at_end() { return rest().empty(); }

void TextCursor::expect_end() {
  if (!at_end()) fail("the end of the line");
}

bool TextCursor::accept(std::string_view token) {
  skip();
  if (text_.substr(position_, token.size()) != token) return false;
  const size_t end = position_ + token.size();
  if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
  position_ = end;
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) fail(token);
}

bool TextCursor::peek(std::string_view token) {
  const size_t saved = position_;
  const bool found = accept(token);
  position_ = saved;
  return found;
}

char TextCursor::next() {
  skip();
  return position_ < text_.size() ? text_[position_] : '\0';
}

std::string TextCursor::word() {
  skip();
  size_t end = position_;
  while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.' || text_[end] == '@')) ++end;
  if (end == position_) fail("a name");
  std::string result(text_.substr(position_, end - position_));
  position_ = end;
  return result;
}

std::string_view TextCursor::number_text() {
  skip();
  size_t end = position_;
  while (end < text_.size() &&
         (isalnum(static_cast<unsigned char>(text_[end])) || std::string_view("+-.").find(text_[end]) != std::string_view::npos))
    ++end;
  std::string_view result = text_.substr(position_, end - position_);
  position_ = end;
  return result;
}

int64_t TextCursor::integer() {
  skip();
  const size_t saved = position_;
  const std::string_view text = number_text();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  position_ = saved;
  fail("an integer");
}

std::variant<int64_t, double> TextCursor::number() {
  skip();
  const size_t saved = position_;
  const std::string_view text = number_text();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  const char* last = text.data() + text.size();
  if (text.find_first_of(".e") == std::string_view::npos) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc() && end == last) return value;
  } else {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc() && end == last) return value;
  }
  position_ = saved;
  fail("a number");
}

std::string TextCursor::quoted() {
  if (next() != '"') fail("a text in quotes");
  for (size_t end = position_ + 1; end < text_.size(); ++end) {
    if (text_[end] == '\\') ++end;
    else if (text_[end] == '"') {
      std::string result = unescaped(text_.substr(position_ + 1, end - position_ - 1));
      position_ = end + 1;
      return result;
    }
  }
  fail("a closing quote");
}

std::string_view TextCursor::until(std::string_view delimiters) {
  skip();
  int depth = 0;
  size_t end = position_;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    if (depth == 0 && delimiters.find(c) != std::string_view::npos) break;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  std::string_view result = text_.substr(position_, end - position_);
  position_ = end;
  while (!result.empty() && result.back() == ' ') result.remove_suffix(1);
  return result;
}

std::optional<TextCursor> TextLines::next() {
  while (offset_ < text_.size()) {
    const size_t end = std::min(text_.find('\n', offset_), text_.size());
    const std::string_view line = text_.substr(offset_, end - offset_);
    offset_ = end + 1;
    ++line_;
    if (line.find_first_not_of(" \r") != std::string_view::npos) return TextCursor(level_, line, line_);
  }
  return std::nullopt;
}

std::optional<TextCursor> TextLines::peek() const { return TextLines(*this).next(); }

}  // namespace litz
