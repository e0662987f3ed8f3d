// Any text is a wrapper program or a UserError; a program's text reads back to the same text, and planning its memory and emitting it
// for the executor succeed or find what is wrong.
#include "fuzz_check.h"
#include "litz/wrapper/emit_executor.h"
#include "litz/wrapper/plan_memory.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  for (std::string_view text : fuzz_texts(input)) {
    const auto program = fuzz_parse(parse_wrapper, text);
    if (!program) continue;
    fuzz_reads_back("program", to_text(*program), [](const std::string& t) { return to_text(*parse_wrapper(t)); });
    try {
      (void)emit_executor(*program);
      plan_memory(*program, 64);
      verify(*program);
    } catch (const UserError&) { continue; } catch (const InternalError&) {
      continue;
    }
  }
}

}  // namespace litz
