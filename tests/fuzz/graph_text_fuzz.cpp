// Any text is a graph, valid or not by its verifier, or a UserError; a graph's text reads back to the same text.
#include "fuzz_check.h"
#include "litz/graph/graph.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    const auto graph = fuzz_parse(parse_graph, text);
    if (!graph) continue;
    try {
      verify(*graph);
    } catch (const InternalError&) { continue; }
    fuzz_reads_back("graph", to_text(*graph), [](const std::string& t) { return to_text(*parse_graph(t)); });
  }
}

}  // namespace litz
