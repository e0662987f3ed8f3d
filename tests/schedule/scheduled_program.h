#pragma once
// The one place where tests run a loop program through scheduling.
#include <memory>

#include "litz/schedule/fused_group.h"
#include "litz/target/target.h"

namespace litz::test {

/// A target of given facts, whatever machine runs the test; without any: threads with vectors of 32 bytes.
class FixedTarget : public Target {
 public:
  explicit FixedTarget(TargetFacts facts = {}, bool prefers_channels_last = false)
      : facts_(facts),
        prefers_channels_last_(prefers_channels_last) {}
  std::string_view device_type() const override { return "host"; }
  const TargetFacts& facts() const override { return facts_; }
  bool prefers_channels_last(DType, bool) const override { return prefers_channels_last_; }

 private:
  TargetFacts facts_;
  bool prefers_channels_last_;
};

/// A grid of blocks, with the figures of a large GPU.
TargetFacts grid_facts();

struct Scheduled {
  std::unique_ptr<LoopProgram> program;
  Schedule schedule;
};
/// Producers inlined, layouts decided, operations fused, storage assigned; verified.
Scheduled schedule_program(std::unique_ptr<LoopProgram> program, const Target& target);

}  // namespace litz::test
