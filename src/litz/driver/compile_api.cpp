// Compiling through the C API.
#include "litz/driver/api_guard.h"
#include "litz/driver/graph_handle.h"
#include "litz/driver/json_text.h"
#include "litz/support/options.h"

namespace litz {
namespace {

Options options_of(const char* const* texts, size_t count) {
  Options options;
  for (size_t i = 0; i < count; i++) {
    const std::string_view text = texts[i];
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) user_error("options: found '{}', expected key=value", text);
    set_option(options, text.substr(0, equals), text.substr(equals + 1));
  }
  return options;
}

int refuse(const std::string& reason) {
  api_error() = reason;
  return LITZ_UNSUPPORTED;
}

}  // namespace
}  // namespace litz

using litz::guarded;

extern "C" {

int litz_compile(litz_graph* graph, const char* const* options, size_t option_count, const litz_constant_host* constants,
                 litz_framework* framework, litz_program** program) {
  std::unique_ptr<litz_graph> owned(graph);
  return guarded([&] {
    const litz::Options parsed = litz::options_of(options, option_count);
    auto compiled = litz::compile_graph(owned->builder.take(), parsed, std::move(owned->constants), constants);
    if (!compiled) return litz::refuse(compiled.reason());
    auto made = std::make_unique<litz_program>();
    made->compiled = std::move(compiled.value());
    if (framework) {
      auto executor = litz::runtime::Executor::create(made->compiled->program, framework->torch->table());
      if (!executor) return litz::refuse(executor.reason());
      made->executor = std::move(executor.value());
    }
    *program = made.release();
    return static_cast<int>(LITZ_OK);
  });
}

void litz_program_destroy(litz_program* program) { delete program; }

int litz_program_report(const litz_program* program, char** json) {
  return guarded([&] { return litz::give_text(litz::to_json(program->compiled->report), json); });
}

int litz_program_text(const litz_program* program, char** text) {
  return guarded([&] { return litz::give_text(litz::runtime::to_text(*program->compiled->program), text); });
}

int litz_run_on_text(const char* text, const char* from, const char* last, const char* const* options, size_t option_count, char** result) {
  return guarded([&] {
    const litz::Options parsed = litz::options_of(options, option_count);
    const auto level = litz::parse_level(from);
    if (!level) litz::user_error("no level '{}', expected graph, loop, kernel or wrapper", from);
    return litz::give_text(litz::run_on_text(text, *level, last, parsed), result);
  });
}

int litz_list_stages(char** text) {
  return guarded([&] {
    std::string out;
    for (const litz::StageInfo& stage : litz::stage_list())
      out += fmt::format("{:30} {:10} {}\n", stage.name, litz::level_name(stage.level), stage.summary);
    return litz::give_text(out, text);
  });
}

int litz_list_options(char** json) {
  return guarded([&] {
    std::string out;
    for (const litz::OptionInfo& o : litz::option_list())
      out += fmt::format("{}\n  {{\"name\": {}, \"type\": {}, \"default\": {}, \"allowed\": {}, \"meaning\": {}}}", out.empty() ? "" : ",",
                         litz::json_text(o.name), litz::json_text(o.type), litz::json_text(o.default_text), litz::json_text(o.allowed),
                         litz::json_text(o.meaning));
    return litz::give_text("[" + out + "\n]\n", json);
  });
}

int litz_check_options(const char* const* options, size_t option_count) {
  return guarded([&] { return litz::options_of(options, option_count), LITZ_OK; });
}

}  // extern "C"
