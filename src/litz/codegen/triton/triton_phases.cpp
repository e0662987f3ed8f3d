// Kernels whose programs count themselves in memory. What stands behind the parallel loops is done by the program that comes last, and nobody
// waits. Between two parallel loops all programs wait for each other; what is done once between them the last one does, while the
// others wait. The number counted is 0 before the launch, and set back by the last program of all.
//
//   for tile0 in range(tl.program_id(0), 256, programs):
//       ...
//   if lt.comes_last(counter, 0):
//       ...
//       lt.let_go(counter)
//   lt.wait_for(counter, programs + 1)
//   for tile2 in range(tl.program_id(0), 1024, programs):
//       ...
//   lt.is_last_program(counter, programs + 1)
#include "litz/codegen/triton/triton_writer.h"
#include "litz/support/check.h"

namespace litz {

/// A phase of one iteration, without a block of its own.
bool TritonWriter::is_once(std::span<const KernelStatement> phase) {
  if (phase.empty() || phase.back().kind != KernelOp::kLoop) return false;
  const KernelLoop& loop = *phase.back().loop;
  return loop.is_parallel && !loop.has_lanes && loop.extent.is_integer(1);
}

void TritonWriter::write_phases() {
  int rounds = 0, releases = 0;  // that have been counted: a round is each program once
  auto counted = [&] {
    std::string text = rounds == 0 ? "0" : rounds == 1 ? "programs" : fmt::format("{} * programs", rounds);
    return releases ? fmt::format("{} + {}", text, releases) : text;
  };
  line("programs = tl.num_programs(0)");
  for (size_t k = 0; k < phases_.size(); ++k) {
    open_lanes_.clear();
    is_dirty_.assign(is_dirty_.size(), false);
    LITZ_CHECK(!phases_[k].empty() && phases_[k].back().kind == KernelOp::kLoop && phases_[k].back().loop->is_parallel &&
                   (k > 0 || !is_once(phases_[k])),
               "{}: phase {} is no loop over tiles", kernel_.name, k);
    if (!is_once(phases_[k])) {
      if (k > 0 && !is_once(phases_[k - 1])) {
        line("lt.comes_last(counter, {})", counted());
        ++rounds;
      }
      if (k > 0) line("lt.wait_for(counter, {})", counted());
      write_grid(phases_[k], k);
      continue;
    }
    line("if lt.comes_last(counter, {}):", counted());
    ++depth_;
    index_.bind(phases_[k].back().loop->axis, "0");
    write_body(phases_[k].first(phases_[k].size() - 1));
    write_body(phases_[k].back().loop->body);
    line("lt.let_go(counter)");
    --depth_;
    ++rounds;
    ++releases;
  }
  if (behind_.empty()) line("lt.is_last_program(counter, {})", counted());
  else write_behind(counted());
}

void TritonWriter::write_behind(const std::string& counted) {
  open_lanes_.clear();
  is_dirty_.assign(is_dirty_.size(), false);
  line("if lt.is_last_program(counter, {}):  # what all programs wrote can be read", counted);
  ++depth_;
  write_body(behind_);
  --depth_;
}

}  // namespace litz
