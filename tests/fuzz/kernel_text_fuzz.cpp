// Any text is kernels or a UserError; a kernel's text reads back to the same text, and each generator spells it or finds that no pass
// makes such a tree.
#include "fuzz_check.h"
#include "litz/codegen/cpp/kernel_text.h"
#include "litz/codegen/triton/triton_backend.h"
#include "litz/kernel/kernel.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    std::vector<std::unique_ptr<Kernel>> kernels;
    try {
      kernels = parse_kernels(text);
    } catch (const UserError&) { continue; }
    for (const auto& kernel : kernels) {
      const std::string once = to_text(*kernel);
      fuzz_check(to_text(*parse_kernels(once).at(0)) == once, "the text of a kernel reads back to another text:\n" + once);
      try {
        (void)kernel_text(*kernel);
        (void)triton_source(*kernel);
      } catch (const InternalError&) { continue; }
    }
  }
}

}  // namespace litz
