#include "golden.h"
#include "litz/codegen/cpp/kernel_text.h"
#include "litz/schedule/assign_storage.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/fuse.h"
#include "litz/schedule/inline_producers.h"

namespace litz {

namespace {

/// 32-byte vectors, whatever machine runs the test.
class GoldenTarget : public Target {
 public:
  std::string_view device_type() const override { return "host"; }
  const TargetFacts& facts() const override { return facts_; }

 private:
  TargetFacts facts_;
};

std::vector<std::unique_ptr<Kernel>> kernels_of(LoopProgram& program, Schedule& schedule, const Target& target) {
  inline_producers(program, target, schedule.refusals);
  decide_layouts(program, target);
  schedule.program = &program;
  fuse(schedule);
  name_groups(schedule);
  assign_storage(schedule);
  find_internal_buffers(schedule);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const auto& group : schedule.groups) kernels.push_back(build_kernel(*group, schedule, target));
  return kernels;
}

template <typename Spell>
std::string spell_kernels(std::string_view text, Spell spell) {
  auto program = parse_loop_program(text);
  Schedule schedule;
  GoldenTarget target;
  std::string out;
  for (const auto& kernel : kernels_of(*program, schedule, target)) out += spell(*kernel);
  return out;
}

}  // namespace

std::string golden_kernel(std::string_view pass, std::string_view text) {
  if (pass != "build_kernel") user_error("no kernel pass named {}", pass);
  return spell_kernels(text, [](const Kernel& kernel) { return to_text(kernel); });
}

std::string golden_codegen(std::string_view generator, std::string_view text) {
  if (generator != "cpp") user_error("no code generator named {}", generator);
  return spell_kernels(text, [](const Kernel& kernel) { return kernel_text(kernel).value().text; });
}

}  // namespace litz
