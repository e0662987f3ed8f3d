#include "litz/codegen/cpp/kernel_text.h"

#include "litz/codegen/cpp/cpp_names.h"
#include "litz/codegen/cpp/kernel_writer.h"

namespace litz {

namespace {

std::optional<DType> type_without_code(const Kernel& kernel) {
  for (const KernelValueInfo& v : kernel.values) {
    if (!cpp_element_type(v.dtype)) return v.dtype;
  }
  for (const KernelParameter& p : kernel.parameters) {
    if (!cpp_element_type(p.dtype)) return p.dtype;
  }
  return std::nullopt;
}

}  // namespace

Result<KernelSource> kernel_text(const Kernel& kernel) {
  if (grid_phases(kernel).size() > 1 || !statements_behind(kernel).empty())
    return unsupported("{}: statements behind a parallel loop", kernel.name);
  if (auto dtype = type_without_code(kernel)) return unsupported("{}: generated kernels have no {}", kernel.name, dtype_name(*dtype));
  KernelSource source;
  source.entry = kernel.name;
  source.language = "cpp";
  source.text = KernelWriter(kernel).run(kernel.name);
  return source;
}

std::string text_identity(const KernelSource& source) {
  std::string out;
  size_t at = 0;
  while (at < source.text.size()) {
    size_t end = source.text.find('\n', at);
    if (end == std::string::npos) end = source.text.size();
    std::string_view line(source.text.data() + at, end - at);
    line = line.substr(0, line.find("//"));
    if (size_t entry = line.find(source.entry + "("); entry != std::string_view::npos) {
      out += line.substr(0, entry);
      line = line.substr(entry + source.entry.size());
    }
    out += line;
    out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace litz
