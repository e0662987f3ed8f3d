#pragma once
// Text as a JSON string, quotes included.
#include <string>
#include <string_view>

namespace litz {

std::string json_text(std::string_view text);

}  // namespace litz
