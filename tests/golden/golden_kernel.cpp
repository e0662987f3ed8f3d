#include "golden.h"
#include "litz/codegen/cpp/kernel_text.h"
#include "litz/kernel/reuse_in_place.h"
#include "litz/schedule/assign_storage.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/fuse.h"
#include "litz/schedule/inline_producers.h"
#include "litz/schedule/meet_required_strides.h"

namespace litz {

namespace {

/// 32-byte vectors, whatever machine runs the test.
class GoldenTarget : public Target {
 public:
  std::string_view device_type() const override { return "host"; }
  const TargetFacts& facts() const override { return facts_; }
  bool prefers_channels_last(DType) const override { return true; }

 private:
  TargetFacts facts_;
};

std::vector<std::unique_ptr<Kernel>> kernels_of(LoopProgram& program, Schedule& schedule, const Target& target, std::string_view pass) {
  inline_producers(program, target, schedule.refusals);
  decide_layouts(program, target);
  meet_required_strides(program);
  schedule.program = &program;
  fuse(schedule);
  name_groups(schedule);
  assign_storage(schedule);
  find_internal_buffers(schedule);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const auto& group : schedule.groups)
    kernels.push_back(group->kind == GroupKind::kLoops ? build_kernel(*group, schedule, target) : nullptr);
  if (pass == "reuse_in_place") reuse_in_place(schedule, kernels, target);
  return kernels;
}

template <typename Spell>
std::string spell_kernels(std::string_view text, std::string_view pass, Spell spell) {
  auto program = parse_loop_program(text);
  Schedule schedule;
  GoldenTarget target;
  std::string out;
  for (const auto& kernel : kernels_of(*program, schedule, target, pass))
    if (kernel) out += spell(*kernel);
  return out;
}

}  // namespace

std::string golden_kernel(std::string_view pass, std::string_view text) {
  if (pass != "build_kernel" && pass != "reuse_in_place") user_error("no kernel pass named {}", pass);
  return spell_kernels(text, pass, [](const Kernel& kernel) { return to_text(kernel); });
}

std::string golden_codegen(std::string_view generator, std::string_view text) {
  if (generator != "cpp") user_error("no code generator named {}", generator);
  return spell_kernels(text, "build_kernel", [](const Kernel& kernel) { return kernel_text(kernel).value().text; });
}

}  // namespace litz
