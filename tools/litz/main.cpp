// The command line. Thin: everything is done by liblitz.so through its C API.
#include <CLI/CLI.hpp>
#include <string>

#include "litz/driver/c_api.h"

int main(int argc, char** argv) {
  CLI::App app{"Litz, a tensor compiler for PyTorch"};
  app.set_version_flag("--version", std::string("litz ") + litz_version() + " (" + litz_compiler_version() + ")");
  app.require_subcommand(0, 1);
  CLI11_PARSE(app, argc, argv);
  if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
  return 0;
}
