#pragma once
// Display names. Axes and indirect symbols have names unique in their context (i0_17); text shows them by their place in the
// operation (i0, r0, t0). These two functions rename in printed expressions, in either direction.
#include <string>
#include <string_view>
#include <unordered_map>

namespace litz {

using SymbolNames = std::unordered_map<std::string, std::string>;

/// Replaces whole identifiers.
inline std::string rename_symbols(std::string_view text, const SymbolNames& names) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    auto is_letter = [&](size_t j) { return j < text.size() && (isalnum(static_cast<unsigned char>(text[j])) || text[j] == '_'); };
    if (!is_letter(k)) {
      out += text[k++];
      continue;
    }
    size_t end = k;
    while (is_letter(end)) ++end;
    std::string word(text.substr(k, end - k));
    auto it = names.find(word);
    out += it == names.end() ? word : it->second;
    k = end;
  }
  return out;
}

}  // namespace litz
