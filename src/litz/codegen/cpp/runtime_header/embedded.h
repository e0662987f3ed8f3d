#pragma once
// The vector header as text, for the compiler in the process: every file of it, as `#include` finds it. Generated code
// includes "litz/vec.h", or only the parts that it uses ("litz/arithmetic.h", ...), each of which includes what it
// needs.
#include <string_view>
#include <utility>
#include <vector>

namespace litz {

/// Pairs of name and text in the form that CppSource::headers takes; the texts live as long as the process.
const std::vector<std::pair<std::string_view, std::string_view>>& runtime_headers();

}  // namespace litz
