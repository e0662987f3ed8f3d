#pragma once
// Texts that a parser must answer with a value or a UserError, never with a crash.
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace litz::test {

/// Every beginning of the text.
inline void for_each_truncation(std::string_view text, const std::function<void(const std::string&)>& visit) {
  for (size_t end = 0; end < text.size(); ++end) visit(std::string(text.substr(0, end)));
}

/// Names, numbers and single characters; blanks stay with what is before them.
inline std::vector<std::string> tokens_of(std::string_view text) {
  auto is_word = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (is_word(text[at]) && end < text.size() && is_word(text[end])) ++end;
    while (end < text.size() && text[end] == ' ') ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// One to three tokens are exchanged, doubled, dropped or taken from elsewhere in the text.
inline std::string change_tokens(std::string_view text, std::mt19937& random) {
  std::vector<std::string> tokens = tokens_of(text);
  const size_t changes = 1 + random() % 3;
  for (size_t k = 0; k < changes; ++k) {
    const size_t a = random() % tokens.size(), b = random() % tokens.size();
    switch (random() % 4) {
      case 0: std::swap(tokens[a], tokens[b]); break;
      case 1: tokens[a] = tokens[b]; break;
      case 2: tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(a), tokens[b]); break;
      default: tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(a));
    }
    if (tokens.empty()) break;
  }
  std::string out;
  for (const std::string& t : tokens) out += t;
  return out;
}

}  // namespace litz::test
