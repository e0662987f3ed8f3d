#pragma once
// Runs a textual loop program through scheduling, kernel IR and compiled C++ on memory of its own, and compares what it gives with
// the reference interpreter. Every tensor ends at a page that may not be touched, so that reading past an end is seen.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "litz/codegen/cpp/cpp_backend.h"
#include "litz/loop/reference_interpreter.h"
#include "scheduled_program.h"

namespace litz::test {

/// A target with the vectors of this machine, or of the given instruction set.
const Target& host_kernel_target();

struct RunOptions {
  std::map<std::string, int64_t> sizes;                     // of symbols
  std::map<std::string, std::pair<double, double>> ranges;  // of the elements of inputs; default -2 to 2 (floats), -4 to 4
  uint64_t seed = 1;
  int cuts = 0;                // places at which each kernel's range is cut, at random
  double tolerance = 1;        // times the type's own
  double least_tolerance = 0;  // relative, of floats of every type: what narrow types on the way cost
};

class KernelRunner {
 public:
  explicit KernelRunner(std::string_view text, const KernelOptions& options = {});
  explicit KernelRunner(std::unique_ptr<LoopProgram> program, const KernelOptions& options = {});

  const std::vector<std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  const std::vector<KernelSource>& sources() const { return sources_; }
  std::string kernel_ir() const;
  std::string cpp() const;

  /// Empty if compiled and interpreted results agree; otherwise the first difference.
  std::string compare(const RunOptions& options);
  /// The error that a kernel reports: code, value, size.
  std::vector<int64_t> error() const { return {error_[0], error_[1], error_[2]}; }
  /// Seconds of one run of all kernels, best of `repeats`; inputs as in compare.
  double time(const RunOptions& options, int repeats);
  /// Of the tensors that the kernels take, once for each kernel; of the last run.
  double bytes() const;

 private:
  struct Memory;
  void build(const KernelOptions& options);
  void allocate(const RunOptions& options);
  void run(const RunOptions& options);

  Scheduled scheduled_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<KernelSource> sources_;
  std::vector<CompiledKernel> compiled_;
  std::map<const Buffer*, HostTensor> memory_;
  std::unordered_map<Expr, int64_t> symbols_;
  int64_t error_[3] = {0, 0, 0};
};

}  // namespace litz::test
