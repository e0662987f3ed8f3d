#pragma once
// Every option of a compile: one struct, parsed once, passed down, wholly part of cache keys. options.def is the only list.
#include <string>
#include <string_view>
#include <vector>

namespace litz {

struct Options {
#define LITZ_OPTION(type, name, default_value, allowed, meaning) type name = default_value;
#include "litz/support/options.def"
#undef LITZ_OPTION
};

struct OptionInfo {
  std::string name, type, default_text, allowed, meaning;
};
const std::vector<OptionInfo>& option_list();

/// Sets one option from text ("true"/"false"/"1"/"0" for switches). Throws UserError that names the known options or allowed values.
void set_option(Options& options, std::string_view name, std::string_view value);
/// One line per option that differs from its default.
std::string to_text(const Options& options);

}  // namespace litz
