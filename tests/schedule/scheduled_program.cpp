#include "scheduled_program.h"

#include "litz/schedule/assign_storage.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/fuse.h"
#include "litz/schedule/inline_producers.h"
#include "litz/schedule/meet_required_strides.h"

namespace litz::test {

TargetFacts grid_facts() {
  TargetFacts facts;
  facts.execution = ExecutionModel::kGridOfBlocks;
  facts.multiprocessors = 132;
  facts.shared_bytes = 227 << 10;
  facts.l2_bytes = 50 << 20;
  facts.tensor_alignment = 256;
  facts.max_grid[0] = INT32_MAX;
  facts.max_grid[1] = facts.max_grid[2] = 65535;
  facts.has_atomics = true;
  facts.knows_last_program = facts.runs_programs_together = true;
  return facts;
}

Scheduled schedule_program(std::unique_ptr<LoopProgram> program, const Target& target) {
  Scheduled s;
  s.program = std::move(program);
  inline_producers(*s.program, target, s.schedule.refusals);
  decide_layouts(*s.program, target);
  meet_required_strides(*s.program);
  verify(*s.program);
  s.schedule.program = s.program.get();
  fuse(s.schedule);
  name_groups(s.schedule);
  assign_storage(s.schedule);
  find_internal_buffers(s.schedule);
  verify(s.schedule);
  return s;
}

}  // namespace litz::test
