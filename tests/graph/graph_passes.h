#pragma once
// The passes over graphs by name, for the golden tests and graph_tool.
#include <functional>
#include <string_view>

#include "litz/graph/graph.h"

namespace litz {

/// Throws UserError for an unknown name.
std::function<bool(Graph&)> find_pass(std::string_view name);

}  // namespace litz
