#include "golden.h"
#include "litz/schedule/assign_storage.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/fuse.h"
#include "litz/schedule/inline_producers.h"
#include "litz/schedule/meet_required_strides.h"
#include "litz/schedule/own_scatter_bases.h"
#include "litz/schedule/split_reduction.h"
#include "litz/support/check.h"
#include "scheduled_program.h"

namespace litz {

namespace {

std::string scheduled(LoopProgram& program, Schedule& schedule, bool with_storage) {
  schedule.program = &program;
  fuse(schedule);
  name_groups(schedule);
  if (with_storage) {
    assign_storage(schedule);
    find_internal_buffers(schedule);
    verify(schedule);
  }
  return to_text(schedule);
}

}  // namespace

std::string golden_schedule(std::string_view pass, std::string_view text) {
  auto program = parse_loop_program(text);
  verify(*program);
  Schedule schedule;
  const test::FixedTarget target({}, true);
  if (pass == "fuse" || pass == "assign_storage") return scheduled(*program, schedule, pass == "assign_storage");
  if (pass == "inline_producers") inline_producers(*program, target, schedule.refusals);
  else if (pass == "split_reduction") split_reduction(*program, schedule.refusals);
  else if (pass == "own_scatter_bases") own_scatter_bases(*program);
  else if (pass == "decide_layouts") decide_layouts(*program, target);
  else if (pass == "meet_required_strides") meet_required_strides(*program);
  else user_error("no schedule pass named {}", pass);
  verify(*program);
  std::string out = to_text(*program);
  for (const Refusal& r : schedule.refusals) out += fmt::format("refused {}: {} with {}: {}\n", r.pass, r.first, r.second, r.reason);
  return out;
}

}  // namespace litz
