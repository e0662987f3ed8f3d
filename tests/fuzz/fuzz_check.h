#pragma once
// What a fuzzer defines and uses. A property that does not hold, an InternalError or a sanitizer's report ends the process.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "litz/support/check.h"

namespace litz {

/// Tries one input. Defined by each fuzzer.
void fuzz_one(std::span<const uint8_t> input);

/// The texts of an input, divided as golden files are.
inline std::vector<std::string_view> fuzz_texts(std::span<const uint8_t> input) {
  constexpr std::string_view kDivider = "----\n";
  std::string_view rest{reinterpret_cast<const char*>(input.data()), input.size()};
  std::vector<std::string_view> texts;
  for (size_t at; (at = rest.find(kDivider)) != rest.npos; rest.remove_prefix(at + kDivider.size())) texts.push_back(rest.substr(0, at));
  texts.push_back(rest);
  return texts;
}

inline void fuzz_check(bool holds, const std::string& message) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

/// What `parse` makes of a text; empty where the text is none.
template <typename Parse>
auto fuzz_parse(Parse parse, std::string_view text) -> decltype(parse(text)) {
  try {
    return parse(text);
  } catch (const UserError&) { return {}; }
}

/// What was made of a text prints as a text that reads back to the same.
template <typename Reprint>
void fuzz_reads_back(std::string_view what, const std::string& once, Reprint reprint) {
  fuzz_check(reprint(once) == once, fmt::format("the text of a {} reads back to another text:\n{}", what, once));
}

}  // namespace litz
