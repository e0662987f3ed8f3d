// reference_runner --ops lists the lowered ops. reference_runner CASES RESULTS: lowers graphs and runs them in the reference interpreter, for comparison with eager from Python.
// CASES holds, for each case: a line "graph BYTES", the graph's text, a line for each parameter, "int VALUE" or
// "tensor TYPE OFFSET BYTES SIZE:STRIDE ..." followed by the storage; then a line "end". RESULTS holds, for each case: "ok COUNT", for each
// output "int VALUE", "none" or "tensor TYPE SIZE ..." with row-major data; or "error TEXT" or "extern OP: REASON".
#include <fstream>
#include <iostream>
#include <sstream>

#include "litz/loop/reference_interpreter.h"
#include "litz/lower/lower_graph.h"

namespace litz {
namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

struct Case {
  std::string graph;
  ReferenceInputs inputs;
};

HostTensor read_tensor(std::istringstream& header, std::istream& in) {
  std::string type, dimension;
  int64_t offset, bytes;
  header >> type >> offset >> bytes;
  HostTensor t;
  t.dtype = *parse_dtype(type);
  while (header >> dimension) {
    size_t colon = dimension.find(':');
    t.sizes.push_back(std::stoll(dimension.substr(0, colon)));
    t.strides.push_back(std::stoll(dimension.substr(colon + 1)));
  }
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes) + 16);
  in.read(reinterpret_cast<char*>(memory->data()), bytes);
  t.data = memory->data() + offset * dtype_bytes(t.dtype);
  t.owner = memory;
  return t;
}

bool read_case(std::istream& in, Case& result) {
  std::string line, word;
  if (!std::getline(in, line)) return false;
  std::istringstream first(line);
  size_t bytes;
  first >> word >> bytes;
  result.graph.resize(bytes);
  in.read(result.graph.data(), static_cast<std::streamsize>(bytes));
  while (std::getline(in, line) && line != "end") {
    std::istringstream header(line);
    header >> word;
    if (word == "int") {
      int64_t v;
      header >> v;
      result.inputs.parameters.emplace_back(v);
    } else {
      result.inputs.parameters.emplace_back(read_tensor(header, in));
    }
  }
  return true;
}

void write_output(std::ostream& out, const HostArgument& a) {
  if (auto* t = std::get_if<HostTensor>(&a)) {
    out << "tensor " << dtype_name(t->dtype);
    for (int64_t s : t->sizes) out << ' ' << s;
    out << '\n';
    out.write(reinterpret_cast<const char*>(t->data), t->numel() * dtype_bytes(t->dtype));
  } else if (auto* i = std::get_if<int64_t>(&a)) {
    out << "int " << *i << '\n';
  } else {
    out << "none\n";
  }
}

void run_case(const Case& c, std::ostream& out) {
  try {
    auto graph = parse_graph(c.graph);
    verify(*graph);
    LoweringOptions options;
    options.most_sorted_elements = 1 << 20;
    options.most_sorted_bytes = 8;
    auto program = lower_graph(*graph, options);
    if (!program) {
      out << "error " << one_line(program.reason()) << '\n';
      return;
    }
    // What is printed is what runs: every case is a round trip as well.
    std::string text = to_text(**program);
    auto again = parse_loop_program(text);
    LITZ_CHECK(to_text(*again) == text, "the text of the program reads back as another");
    if (!(*program)->fallbacks.empty()) {
      const FallbackNote& f = (*program)->fallbacks[0];
      out << "extern " << f.op << ": " << one_line(f.reason) << '\n';
      return;
    }
    ReferenceOutputs outputs = run_reference(*again, c.inputs);
    out << "ok " << outputs.outputs.size() << '\n';
    for (const HostArgument& a : outputs.outputs) write_output(out, a);
  } catch (const std::exception& e) { out << "error " << one_line(e.what()) << '\n'; }
}

}  // namespace
}  // namespace litz

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--ops") {
    for (std::string_view op : litz::lowered_ops()) std::cout << op << '\n';
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: reference_runner CASES RESULTS\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  for (litz::Case c; litz::read_case(in, c); c = {}) litz::run_case(c, out);
  return 0;
}
