// kernel_bench program.ir [--size s0=64]... [--print] [--seconds x]: compiles a textual loop program, checks it against the reference
// interpreter unless it is large, and prints the time of its kernels with the rate at which they move their tensors' bytes.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "kernel_runner.h"

int main(int argc, char** argv) {
  using namespace litz::test;
  std::string path;
  RunOptions options;
  bool print = false, check = false;
  int repeats = 20;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--print") print = true;
    else if (argument == "--check") check = true;
    else if (argument == "--repeats") repeats = std::stoi(argv[++k]);
    else if (argument == "--size") {
      const std::string pair = argv[++k];
      options.sizes[pair.substr(0, pair.find('='))] = std::stoll(pair.substr(pair.find('=') + 1));
    } else path = argument;
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto start = std::chrono::steady_clock::now();
  KernelRunner runner(text.str());
  const double build = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (print) std::printf("%s%s", runner.kernel_ir().c_str(), runner.cpp().c_str());
  if (check) {
    const std::string difference = runner.compare(options);
    std::printf("%s\n", difference.empty() ? "agrees with the interpreter" : difference.c_str());
  }
  const double seconds = runner.time(options, repeats);
  std::printf("%s: %zu kernels, built in %.1f ms; run %.3f ms, %.2f GB/s\n", path.c_str(), runner.kernels().size(), build * 1e3,
              seconds * 1e3, runner.bytes() / seconds * 1e-9);
}
