#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "golden.h"

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kMark = "----\n";

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string apply(const litz::GoldenLevel& level, const std::string& pass, std::string_view text) {
  try {
    return level.apply(pass, text);
  } catch (const std::exception& e) { return std::string("error: ") + e.what() + "\n"; }
}

class GoldenCase : public testing::Test {
 public:
  GoldenCase(const litz::GoldenLevel& level, fs::path path, bool update) : level_(level), path_(std::move(path)), update_(update) {}
  void TestBody() override {
    const std::string all = read(path_);
    const size_t mark = all.find(kMark);
    const std::string before = all.substr(0, mark);
    const std::string expected = mark == std::string::npos ? "" : all.substr(mark + kMark.size());
    const std::string found = apply(level_, path_.parent_path().filename().string(), before);
    if (update_ && found != expected) {
      std::ofstream(path_) << before << (before.ends_with('\n') ? "" : "\n") << kMark << found;
      return;
    }
    EXPECT_EQ(found, expected) << path_.string() << ": ./dev golden --update rewrites it";
  }

 private:
  const litz::GoldenLevel& level_;
  fs::path path_;
  bool update_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  bool update = false;
  std::string pattern;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--update") update = true;
    else pattern = argv[i];
  }
  size_t count = 0;
  for (const litz::GoldenLevel& level : litz::kGoldenLevels) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(LITZ_GOLDEN_DIRECTORY) / level.name))
      if (entry.path().extension() == ".ir") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      if (file.string().find(pattern) == std::string::npos) continue;
      ++count;
      const std::string suite = std::string(level.name) + "/" + file.parent_path().filename().string();
      testing::RegisterTest(suite.c_str(), file.stem().string().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&level, file, update]() -> GoldenCase* { return new GoldenCase(level, file, update); });
    }
  }
  if (count == 0) {
    std::cerr << "no golden text matches '" << pattern << "'\n";
    return 1;
  }
  return RUN_ALL_TESTS();
}
