#include "litz/support/options.h"

#include <algorithm>

#include "litz/support/check.h"

namespace litz {
namespace {

std::string text_of(const std::string& v) { return v; }
std::string text_of(bool v) { return v ? "true" : "false"; }

void assign(std::string& target, std::string_view value, const OptionInfo&) { target = value; }
void assign(bool& target, std::string_view value, const OptionInfo& info) {
  if (value == "true" || value == "1" || value == "True") target = true;
  else if (value == "false" || value == "0" || value == "False") target = false;
  else user_error("option {}: found '{}', expected true or false", info.name, value);
}

template <typename T>
constexpr const char* type_name = "text";
template <>
constexpr const char* type_name<bool> = "switch";

}  // namespace

const std::vector<OptionInfo>& option_list() {
  static const std::vector<OptionInfo> list = {
#define LITZ_OPTION(type, name, default_value, allowed, meaning) {#name, type_name<type>, text_of(type(default_value)), allowed, meaning},
#include "litz/support/options.def"
#undef LITZ_OPTION
  };
  return list;
}

void set_option(Options& options, std::string_view name, std::string_view value) {
  for (const OptionInfo& info : option_list()) {
    if (info.name != name) continue;
    if (!info.allowed.empty()) {
      const std::string wrapped = "|" + info.allowed + "|";
      if (wrapped.find(fmt::format("|{}|", value)) == std::string::npos)
        user_error("option {}: found '{}', expected one of {}", name, value, info.allowed);
    }
#define LITZ_OPTION(type, field, default_value, allowed, meaning) \
  if (name == #field) assign(options.field, value, info);
#include "litz/support/options.def"
#undef LITZ_OPTION
    return;
  }
  std::string known;
  for (const OptionInfo& info : option_list()) known += (known.empty() ? "" : ", ") + info.name;
  user_error("unknown option '{}', known are: {}; litz.list_options() explains them", name, known);
}

std::string to_text(const Options& options) {
  const Options defaults;
  std::string out;
#define LITZ_OPTION(type, name, default_value, allowed, meaning) \
  if (options.name != defaults.name) out += fmt::format("{}={}\n", #name, text_of(options.name));
#include "litz/support/options.def"
#undef LITZ_OPTION
  return out;
}

}  // namespace litz
