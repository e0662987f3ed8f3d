// Any text is a loop program or a UserError; a program's text reads back to the same text.
#include "fuzz_check.h"
#include "litz/loop/program.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    if (const auto program = fuzz_parse(parse_loop_program, text))
      fuzz_reads_back("program", to_text(*program), [](const std::string& t) { return to_text(*parse_loop_program(t)); });
  }
}

}  // namespace litz
