#include <fmt/ranges.h>

#include "litz/driver/json_text.h"
#include "litz/driver/pipeline.h"

namespace litz {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + '"';
}

namespace {

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + json_text(text);
  return "[" + out + "]";
}

std::string json_counts(const std::map<std::string, int>& counts) {
  std::string out;
  for (const auto& [name, count] : counts) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", json_text(name), count);
  return "{" + out + "}";
}

std::string json_strides(const std::vector<std::optional<std::vector<int64_t>>>& outputs) {
  std::vector<std::string> texts;
  for (const auto& strides : outputs) texts.push_back(strides ? fmt::format("[{}]", fmt::join(*strides, ", ")) : "null");
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

std::string to_json(const CompileReport& r) {
  std::string stages;
  for (const auto& [stage, ms] : r.stage_ms) stages += fmt::format("{}{}: {:.4f}", stages.empty() ? "" : ", ", json_text(stage), ms);
  return fmt::format(
      "{{\"kernels\": {}, \"kernel_names\": {}, \"library_calls\": {}, \"extern_calls\": {}, \"notes\": {}, \"refusals\": {}, \"bytes_read\": {}, "
      "\"bytes_written\": {}, \"output_strides\": {}, \"stage_ms\": {{{}}}, \"cpp_paths\": {}}}",
      r.kernels, json_list(r.kernel_names), json_counts(r.library_calls), json_counts(r.extern_calls), json_list(r.notes),
      json_list(r.refusals), r.bytes_read, r.bytes_written, json_strides(r.output_strides), stages, json_list(r.cpp_paths));
}

}  // namespace litz
