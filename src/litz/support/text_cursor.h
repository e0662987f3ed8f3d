#pragma once
// Reading the text of a level line by line. A cursor stands in one line; what does not fit is a UserError that names the level, the
// line, the column, what was expected and what was found.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace litz {

class TextCursor {
 public:
  /// `level` is what the error calls the text: "loop ir".
  TextCursor(std::string_view level, std::string_view line, int number) : level_(level), text_(line), line_(number) {}

  /// "LEVEL, line L, column C: expected EXPECTED, found ..."
  [[noreturn]] void fail(std::string_view expected);
  /// "LEVEL, line L, column C: MESSAGE": what stands there can be read and is wrong.
  [[noreturn]] void refuse(std::string_view message) const;

  bool at_end();
  void expect_end();
  /// A word is taken only as a whole: "if" does not begin "iffy".
  bool accept(std::string_view token);
  void expect(std::string_view token);
  bool peek(std::string_view token);
  /// The next character that is no blank; 0 at the end.
  char next();

  /// A name: letters, digits and . _ @
  std::string word();
  /// A number's characters, read on by whoever asked.
  std::string_view number_text();
  int64_t integer();
  /// A float has a point, an exponent, or is inf or nan.
  std::variant<int64_t, double> number();
  std::string quoted();
  /// Text up to a delimiter outside brackets.
  std::string_view until(std::string_view delimiters);

  std::string_view level() const { return level_; }
  int line() const { return line_; }
  /// Blanks at the line's begin.
  size_t indent() const;
  std::string_view rest();
  /// Of the next character that is no blank.
  size_t position() {
    skip();
    return position_;
  }
  void move_to(size_t position) { position_ = position; }

 private:
  void skip();
  std::string_view level_, text_;
  int line_;
  size_t position_ = 0;
};

/// The lines of a text that are not empty.
class TextLines {
 public:
  TextLines(std::string_view level, std::string_view text) : level_(level), text_(text) {}
  std::optional<TextCursor> next();
  /// The line that next would give, which stays.
  std::optional<TextCursor> peek() const;
  int line() const { return line_; }

 private:
  std::string_view level_, text_;
  size_t offset_ = 0;
  int line_ = 0;
};

}  // namespace litz
