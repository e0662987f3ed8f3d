#pragma once
// What a level's passes make of a text. A text that a pass refuses gives "error: message".
#include <string>
#include <string_view>

namespace litz {

std::string golden_graph(std::string_view pass, std::string_view text);
std::string golden_loop(std::string_view pass, std::string_view text);
std::string golden_schedule(std::string_view pass, std::string_view text);
std::string golden_kernel(std::string_view pass, std::string_view text);
std::string golden_codegen(std::string_view generator, std::string_view text);

struct GoldenLevel {
  std::string_view name;  // the folder
  std::string (*apply)(std::string_view pass, std::string_view text);
};
constexpr GoldenLevel kGoldenLevels[] = {
    {"graph", golden_graph}, {"loop", golden_loop}, {"schedule", golden_schedule}, {"kernel", golden_kernel}, {"codegen", golden_codegen},
};

}  // namespace litz
