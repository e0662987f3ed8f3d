#pragma once
// What the compiler may ask of a device. The core asks these questions and never for a device's name. Answers are data; policies
// are functions with a default, so that a target is a table of differences.
#include <cstdint>
#include <string>
#include <vector>

#include "litz/support/dtype.h"

namespace litz {

enum class ExecutionModel : uint8_t {
  kThreadsOfVectors,  // ranges of iterations given to threads, vector lanes inside
  kGridOfBlocks,      // a launch grid of programs that work on blocks of elements
};

struct TargetFacts {
  ExecutionModel execution = ExecutionModel::kThreadsOfVectors;
  int vector_bytes = 32;  // kThreadsOfVectors: width of a register
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;  // data cache of one core: the budget for a row that is read twice
  int64_t l2_bytes = 1 << 20;
  int64_t parallel_grain = 16384;   // elements of work below which another thread costs more than it brings
  int64_t tensor_alignment = 64;    // bytes, of the framework's allocations
  int64_t max_grid[3] = {1, 1, 1};  // kGridOfBlocks
  int multiprocessors = 1;
  int64_t shared_bytes = 0;  // kGridOfBlocks: scratch of one block
  bool has_atomics = false;
  bool knows_last_program = false;      // kernels may have statements behind their parallel loops: the program that comes last runs them
  bool runs_programs_together = false;  // and several parallel loops, one after the other: programs of a launch can wait for each other
  bool draws_random_numbers = false;    // generated code may draw numbers of its own, which are not eager's
  int64_t sorted_elements = 0;          // of rows that generated code sorts, at most
  int64_t matrix_row_bytes = 1;         // matrix products whose rows are no multiple of it take slow paths of the library
};

struct InlineLimits {
  int max_users = 8;   // of a producer that is copied into every user
  int max_reads = 24;  // of a body after inlining
  int max_instructions = 400;
  int max_repeated_reads = 4;                   // of a producer with several users
  int max_gather_repeats = 8;                   // how often a consumer may repeat each gather of an inlined producer
  int64_t max_slow_repeats = int64_t{1} << 40;  // how often a consumer may repeat each value of a producer with slow ops (cos, erf, pow)
  int max_heavy_users = 1;                      // users of a producer with expensive ops (exp, erf, division): more means it is kept
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view device_type() const = 0;  // PyTorch's name of the device
  virtual const TargetFacts& facts() const = 0;
  virtual InlineLimits inline_limits() const { return {}; }
  /// Whether convolution libraries work faster on channels-last tensors of this type; convolutions that take each channel by itself apart.
  virtual bool prefers_channels_last(DType, bool /*is_depthwise*/) const { return false; }
  /// The type in which the framework's matrix products and convolutions of tensors of this type are best computed: another one where
  /// its own arithmetic is only emulated. Results are rounded to the type once, as the op itself does.
  virtual DType product_type(DType dtype) const { return dtype; }
};

}  // namespace litz
