// Any text is a loop program or a UserError; a program's text reads back to the same text.
#include "fuzz_check.h"
#include "litz/loop/program.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    std::unique_ptr<LoopProgram> program;
    try {
      program = parse_loop_program(text);
    } catch (const UserError&) { continue; }
    const std::string once = to_text(*program);
    fuzz_check(to_text(*parse_loop_program(once)) == once, "the text of a program reads back to another text:\n" + once);
  }
}

}  // namespace litz
