// replay [--rounds N] FOLDER...: a fuzzer's property without libFuzzer, on every file of the folders, on N rounds of files changed at
// random, and on as many random inputs.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz_check.h"

namespace {

using Bytes = std::vector<uint8_t>;

Bytes contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One to three changes: another byte, a piece less, a piece of the text once more elsewhere.
void change(Bytes& bytes, std::mt19937& random) {
  const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  for (size_t left = 1 + below(3); left > 0 && !bytes.empty(); --left) {
    const size_t at = below(bytes.size()), length = std::min(1 + below(12), bytes.size() - at);
    const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (below(3)) {
      case 0: *first = below(2) ? bytes[below(bytes.size())] : static_cast<uint8_t>(random()); break;
      case 1: bytes.erase(first, first + static_cast<ptrdiff_t>(length)); break;
      default: {
        const Bytes piece(first, first + static_cast<ptrdiff_t>(length));
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(below(bytes.size() + 1)), piece.begin(), piece.end());
      }
    }
  }
}

/// An input that raises is printed as it is.
void try_one(const Bytes& bytes) {
  try {
    litz::fuzz_one(bytes);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\nfrom this input of %zu bytes:\n", e.what(), bytes.size());
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  size_t rounds = 30;
  std::vector<Bytes> seeds;
  for (int k = 1; k < argc; ++k) {
    if (std::string_view(argv[k]) == "--rounds" && k + 1 < argc) {
      rounds = std::stoul(argv[++k]);
      continue;
    }
    if (!std::filesystem::exists(argv[k])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[k])) {
      if (!entry.is_regular_file()) continue;
      std::fprintf(stderr, "%s\n", entry.path().c_str());
      seeds.push_back(contents(entry.path()));
      try_one(seeds.back());
    }
  }
  std::mt19937 random(1);
  for (size_t round = 0; round < rounds; ++round) {
    for (Bytes bytes : seeds) {
      change(bytes, random);
      try_one(bytes);
    }
    Bytes bytes(random() % 100);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    try_one(bytes);
  }
  std::fprintf(stderr, "%zu files, %zu rounds\n", seeds.size(), rounds);
  return 0;
}
