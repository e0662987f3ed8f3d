// Any text is kernels or a UserError; a kernel's text reads back to the same text, and each generator spells it or finds that no pass
// makes such a tree.
#include "fuzz_check.h"
#include "litz/codegen/cpp/kernel_text.h"
#include "litz/codegen/triton/triton_backend.h"
#include "litz/kernel/kernel.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    for (const auto& kernel : fuzz_parse(parse_kernels, text)) {
      fuzz_reads_back("kernel", to_text(*kernel), [](const std::string& t) { return to_text(*parse_kernels(t).at(0)); });
      try {
        (void)kernel_text(*kernel);
        (void)triton_source(*kernel);
      } catch (const InternalError&) { continue; }
    }
  }
}

}  // namespace litz
