#include "litz/driver/compile_state.h"

namespace litz {
namespace {

constexpr std::string_view kNames[] = {"graph", "loop", "schedule", "kernel", "source", "wrapper", "executor"};

}  // namespace

std::string_view level_name(Level level) { return kNames[static_cast<int>(level)]; }

std::optional<Level> parse_level(std::string_view name) {
  for (size_t k = 0; k < std::size(kNames); ++k)
    if (kNames[k] == name) return static_cast<Level>(k);
  return std::nullopt;
}

std::string level_text(const CompileState& s, Level level) {
  std::string text;
  switch (level) {
    case Level::kGraph: return s.graph ? to_text(*s.graph) : "";
    case Level::kLoop: return s.loops ? to_text(*s.loops) : "";
    case Level::kSchedule: return to_text(s.schedule);
    case Level::kKernel:
      for (const auto& k : s.kernels)
        if (k) text += to_text(*k) + "\n";
      return text;
    case Level::kSource:
      for (const auto& source : s.sources)
        if (!source.text.empty()) text += source.text + "\n";
      return text;
    case Level::kWrapper: return s.wrapper ? to_text(*s.wrapper) : "";
    case Level::kExecutor: return s.program ? runtime::to_text(*s.program) : "";
  }
  return text;
}

}  // namespace litz
