#pragma once
// build_wrapper: a schedule and its kernels become lines: allocate before the first write, call, free after the last use.
#include <unordered_map>

#include "litz/schedule/fused_group.h"
#include "litz/target/target.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

/// kernels[k] belongs to schedule.groups[k]; null for extern groups, and for those whose statements are part of an earlier kernel.
struct ScheduledKernel {
  const Kernel* kernel = nullptr;
  KernelSource source;
};

/// `data`: constants that become part of the program, by the name of their node; the caller passes the others.
std::unique_ptr<WrapperProgram> build_wrapper(const Schedule& schedule, const std::vector<ScheduledKernel>& kernels, const Target& target,
                                              const std::unordered_map<std::string, HostTensor>& data = {});

}  // namespace litz
