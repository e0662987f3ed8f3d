// graph_tool decompose|verify|... < graphs > graphs: applies the named passes to every graph of the input, for tests that run graphs
// elsewhere; --decompositions lists the ops that have one. Graphs follow one another; each ends with its return line. A graph that fails gives "error: message" instead.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "graph_passes.h"
#include "litz/decompose/decompose.h"
#include "litz/graph/graph.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--decompositions") {
    for (const litz::Decomposition* d : litz::decompositions()) std::cout << d->op << "\n";
    return 0;
  }
  std::ostringstream all;
  all << std::cin.rdbuf();
  const std::string input = all.str();
  size_t begin = 0;
  while (begin < input.size()) {
    size_t end = input.find("\nreturn", begin);
    if (end == std::string::npos) break;
    end = input.find('\n', end + 1);
    end = end == std::string::npos ? input.size() : end + 1;
    try {
      auto graph = litz::parse_graph(std::string_view(input).substr(begin, end - begin));
      litz::verify(*graph);
      for (int i = 1; i < argc; ++i) {
        litz::find_pass(argv[i])(*graph);
        litz::verify(*graph);
      }
      std::cout << litz::to_text(*graph);
    } catch (const std::exception& e) { std::cout << "error: " << e.what() << "\nreturn\n"; }
    begin = end;
  }
}
