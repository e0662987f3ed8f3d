// Any text is a graph, valid or not by its verifier, or a UserError; a graph's text reads back to the same text.
#include "fuzz_check.h"
#include "litz/graph/graph.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    std::unique_ptr<Graph> graph;
    try {
      graph = parse_graph(text);
    } catch (const UserError&) { continue; }
    try {
      verify(*graph);
    } catch (const InternalError&) { continue; }
    const std::string once = to_text(*graph);
    fuzz_check(to_text(*parse_graph(once)) == once, "the text of a graph reads back to another text:\n" + once);
  }
}

}  // namespace litz
