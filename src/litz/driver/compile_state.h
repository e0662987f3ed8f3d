#pragma once
// Everything a compile has made so far. Stages read what earlier ones left and fill in their own.
#include "litz/device/device.h"
#include "litz/driver/constant_evaluator.h"
#include "litz/driver/host_evaluator.h"
#include "litz/driver/pipeline.h"
#include "litz/kernel/kernel.h"
#include "litz/loop/program.h"
#include "litz/schedule/fused_group.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

struct CompileState {
  Options options;
  DeviceInterface* device = nullptr;
  std::unique_ptr<Graph> graph;
  ConstantData given_constants;  // the caller's, as far as their data is known
  HostConstants host_constants;  // numbers of those that the host holds
  const litz_constant_host* constant_host = nullptr;
  ConstantData stored_constants;  // what passes computed: part of the program
  std::unique_ptr<LoopProgram> loops;
  Schedule schedule;
  std::unordered_map<const FusedGroup*, ProductTile> tiles;  // of groups that begin with a matrix product
  /// One per group of the schedule; null for extern calls, and for groups whose statements are part of an earlier kernel.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<KernelSource> sources;  // one per group
  std::unique_ptr<WrapperProgram> wrapper;
  std::shared_ptr<runtime::Program> program;
  CompileReport report;

  KernelOptions kernel_options() const { return {.strict_numerics = options.numerics == "strict"}; }
  /// Of the k-th kernel; null if it is no matrix product in tiles. Kernels that were read from text have no groups.
  const ProductTile* tile_of(size_t k) const {
    const auto found = k < schedule.groups.size() ? tiles.find(schedule.groups[k].get()) : tiles.end();
    return found == tiles.end() ? nullptr : &found->second;
  }
};

/// The text of a level as it stands; empty if it has not been made.
std::string level_text(const CompileState& state, Level level);

}  // namespace litz
