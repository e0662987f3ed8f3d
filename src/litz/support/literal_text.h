#pragma once
// Numbers and strings as every level's text writes them, so that they read back to the same.
#include <string>
#include <string_view>

namespace litz {

/// "1e-05", "1.0", "-0.0", "inf", "nan": reads back to the same number, and always as a float.
std::string float_text(double value);
/// "\"text\"" with escapes.
std::string quoted(std::string_view text);
/// What stands between the quotes, without the escapes.
std::string unescaped(std::string_view inside);
/// Without blanks at either end; of blanks alone, the end.
std::string_view trimmed(std::string_view text);

}  // namespace litz
