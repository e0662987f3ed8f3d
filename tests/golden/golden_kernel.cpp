#include <algorithm>

#include "golden.h"
#include "litz/codegen/cpp/kernel_text.h"
#include "litz/kernel/append_small_kernels.h"
#include "litz/kernel/make_cooperative_kernels.h"
#include "litz/kernel/reuse_in_place.h"
#include "scheduled_program.h"

namespace litz {

namespace {

template <typename Spell>
std::string spell_kernels(std::string_view text, std::string_view pass, Spell spell) {
  const bool is_cooperative = pass == "make_cooperative_kernels", is_of_blocks = is_cooperative || pass == "append_small_kernels";
  const test::FixedTarget target(is_of_blocks ? test::grid_facts() : TargetFacts(), true);
  test::Scheduled scheduled = test::schedule_program(parse_loop_program(text), target);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const auto& group : scheduled.schedule.groups)
    kernels.push_back(group->kind == GroupKind::kLoops ? build_kernel(*group, scheduled.schedule, target) : nullptr);
  if (pass == "reuse_in_place") reuse_in_place(scheduled.schedule, kernels, target);
  if (is_of_blocks) append_small_kernels(scheduled.schedule, kernels, target.facts(), [](size_t) { return false; });
  if (is_cooperative) make_cooperative_kernels(scheduled.schedule, kernels, target.facts(), [](size_t) { return false; });
  std::string out;
  for (const auto& kernel : kernels)
    if (kernel) out += spell(*kernel);
  return out;
}

}  // namespace

std::string golden_kernel(std::string_view pass, std::string_view text) {
  constexpr std::string_view kPasses[] = {"build_kernel", "reuse_in_place", "append_small_kernels", "make_cooperative_kernels"};
  if (std::ranges::find(kPasses, pass) == std::end(kPasses)) user_error("no kernel pass named {}", pass);
  return spell_kernels(text, pass, [](const Kernel& kernel) { return to_text(kernel); });
}

std::string golden_codegen(std::string_view generator, std::string_view text) {
  if (generator != "cpp") user_error("no code generator named {}", generator);
  return spell_kernels(text, "build_kernel", [](const Kernel& kernel) { return kernel_text(kernel).value().text; });
}

}  // namespace litz
