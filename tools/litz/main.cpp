// The command line. Thin: everything is done by liblitz.so through its C API.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "litz/driver/c_api.h"

namespace {

struct OptArguments {
  std::string input, output, from, to = "wrapper";
  std::vector<std::string> options;
  bool list = false;
};

std::string read_all(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw CLI::ValidationError("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A text says its own level in its first word.
std::string level_of(const std::string& text) {
  const std::string word = text.substr(0, text.find(' '));
  return word == "program" ? "loop" : word == "kernel" || word == "wrapper" ? word : "graph";
}

int fail() {
  std::fprintf(stderr, "litz: %s\n", litz_error_message());
  return 1;
}

int run_opt(const OptArguments& a) {
  char* result = nullptr;
  if (a.list) {
    if (litz_list_stages(&result) != LITZ_OK) return fail();
  } else {
    const std::string text = read_all(a.input);
    std::vector<const char*> options;
    for (const auto& o : a.options) options.push_back(o.c_str());
    const std::string from = a.from.empty() ? level_of(text) : a.from;
    if (litz_run_on_text(text.c_str(), from.c_str(), a.to.c_str(), options.data(), options.size(), &result) != LITZ_OK) return fail();
  }
  if (a.output.empty() || a.output == "-") std::fputs(result, stdout);
  else std::ofstream(a.output) << result << std::flush;
  litz_free_text(result);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Litz, a tensor compiler for PyTorch"};
  app.set_version_flag("--version", std::string("litz ") + litz_version() + " (" + litz_compiler_version() + ")");
  app.require_subcommand(0, 1);

  OptArguments opt;
  CLI::App* opt_command = app.add_subcommand("opt", "read the text of one level, run stages, write the text of another");
  opt_command->add_option("input", opt.input, "a file, or - for the standard input");
  opt_command->add_option("-o,--output", opt.output, "a file; without it the standard output");
  opt_command->add_option("--from", opt.from, "graph, loop, kernel or wrapper; without it the text's first word tells");
  opt_command->add_option("--to", opt.to, "a stage, or a level: then the last stage that ends in it")->capture_default_str();
  opt_command->add_option("--option", opt.options, "key=value, as in torch.compile's options; may be given again")->allow_extra_args(false);
  opt_command->add_flag("--list", opt.list, "list the stages");

  CLI11_PARSE(app, argc, argv);
  try {
    if (opt_command->parsed()) {
      if (opt.input.empty() && !opt.list) throw CLI::RequiredError("input");
      return run_opt(opt);
    }
  } catch (const CLI::Error& error) { return app.exit(error); }
  std::fputs(app.help().c_str(), stdout);
  return 0;
}
