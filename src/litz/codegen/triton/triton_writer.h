#pragma once
// Kernel IR as Triton source. A program of the grid takes one iteration of the parallel loops. Every loop with lanes is a dimension
// of the block, by its depth among such loops; a value that varies over some of them has size 1 along the others, and Triton
// broadcasts. Loops with lanes that are not whole, and plain loops, are `for` loops. Kernels of several phases: triton_phases.cpp.
#include <fmt/format.h>

#include <unordered_map>

#include "litz/codegen/triton/triton_index.h"
#include "litz/kernel/kernel.h"
#include "litz/kernel/product_tile.h"

namespace litz {

class TritonWriter {
 public:
  /// tile: of a kernel that build_product_kernel made.
  explicit TritonWriter(const Kernel& kernel, const ProductTile* tile = nullptr);
  /// A complete module: imports, the kernel, and LAUNCH, what whoever compiles it must know.
  std::string run();
  /// Null, or the op or type that Triton source cannot say.
  std::string refusal() const;

 private:
  using Loops = std::vector<const KernelLoop*>;
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(4 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // triton_writer.cpp: the frame, loops
  void plan();
  /// first_dimension: of the outermost loop with lanes.
  void plan_body(std::span<const KernelStatement> body, int first_dimension, Loops& lanes, Loops& loops);
  void write_head();
  void write_launch();
  void write_grid(std::span<const KernelStatement> phase, size_t number);
  void write_body(std::span<const KernelStatement> body);
  void write_loop(const KernelStatement& s) { write_loop(*s.loop); }
  void write_loop(const KernelLoop& loop);
  void open_lanes(const KernelLoop& loop, const std::string& name, const std::string& start, std::string block = "");
  std::string slice(int dimension) const;
  std::string block_name(const KernelLoop& loop) const { return block_names_.at(&loop); }
  int warps() const;

  // triton_statements.cpp: values and memory
  void write_statement(const KernelStatement& s);
  void write_load(const KernelStatement& s);
  void write_store(const KernelStatement& s);
  void write_compute(const KernelStatement& s);
  std::string compute_text(const KernelStatement& s) const;
  std::string quotient_text(const KernelStatement& s) const;
  std::string extremum_text(const KernelStatement& s, bool is_maximum) const;
  std::string cast_text(const KernelStatement& s) const;
  void define(KernelValue v, const std::string& expression);
  /// A value as an operand; `bare`: a float32 literal may stand as it is.
  std::string operand(KernelValue v, bool bare = false) const;
  Loops loops_of(Expr expr) const;
  static void add(Loops& to, const Loops& from);
  /// The masks of these loops and the predicate, joined; empty for none.
  std::string mask_of(const Loops& loops, KernelValue predicate = kNoKernelValue) const;
  std::string pointer(Memory memory) const;
  /// pointer + offset with the shape that these loops give.
  std::string address(Memory memory, Expr offset, const Loops& loops) const;

  // triton_product.cpp
  void find_product();
  void write_product_grid(const Loops& loops);
  void write_product_loop(const KernelLoop& loop);
  void write_factor(const KernelLoop& loop, KernelValue factor, const std::string& summed, const std::string& shape);
  bool is_product(int accumulator) const { return tile_ && accumulator == product_.accumulator; }

  // triton_descriptors.cpp: tiles whose blocks come and go through tensor descriptors
  struct Descriptor {
    std::string name;
    bool is_turned = false;  // the second axis of the statement is the leading one in memory
  };
  bool has_descriptors() const { return tile_ && tile_->programs > 0; }
  void find_descriptors();
  std::string add_descriptor(const KernelStatement& s, std::string name, const KernelLoop& down, const KernelLoop& across,
                             std::string_view block_down, std::string_view block_across);
  void write_descriptors();
  void write_factors_of_descriptors();
  void write_pieces(std::span<const KernelStatement> body);
  /// Of the product's columns, as the piece that is written counts them.
  std::string piece_start() const;

  // triton_phases.cpp: parallel loops one after the other, and what the last program does
  bool is_cooperative() const { return phases_.size() > 1; }
  bool counts_programs() const { return is_cooperative() || !behind_.empty(); }
  static bool is_once(std::span<const KernelStatement> phase);
  void write_phases();
  void write_behind(const std::string& counted);

  // triton_coarse.cpp
  void find_coarse();

  // triton_exp_sums.cpp
  struct ExpSum {
    const KernelLoop *first, *second;
    int maximum, sum;   // accumulators
    KernelValue m;      // the maximum over the row
    KernelValue value;  // of which the first loop takes the maximum
    int64_t at_once;    // values that one step of a lane takes
  };
  void find_exp_sums(const std::vector<KernelStatement>& body);
  bool can_gather(const KernelLoop& loop, int accumulator, ReductionKind kind) const;
  int64_t values_at_once(const KernelLoop& loop) const;
  const ExpSum* exp_sum_of(int accumulator) const;
  void write_exp_sum_update(const ExpSum& e);

  // triton_scans.cpp: running totals over the lanes of a block
  static bool scans_lanes(const Accumulator& a) { return a.is_scan && !a.lanes.empty(); }
  /// Whether an earlier block of the row hands on what it came to.
  bool has_carry(int accumulator) const { return !accumulators_[accumulator].is_in_own_loop; }
  void write_scan_init(const KernelStatement& s);
  void write_scan_update(const KernelStatement& s);
  void write_scan_finish(const KernelStatement& s);

  // triton_accumulators.cpp
  void write_init(const KernelStatement& s);
  void write_update(const KernelStatement& s);
  void write_finish(const KernelStatement& s);
  std::string identity(const Accumulator& a) const;
  static std::string no_index(const Accumulator& a);
  /// The value where the accumulator's lanes lie inside their loops, `other` elsewhere; `whole_shape`: with all of the state's dimensions.
  std::string live(const KernelStatement& s, KernelValue v, const std::string& other, DType dtype, bool whole_shape) const;
  /// Of its state, or with `at_once` values in a lane; `last`: one more dimension.
  std::string shape_of(const Accumulator& a, int accumulator, int64_t at_once = 1, std::string_view last = "") const;
  std::string reduced(const Accumulator& a, const std::string& function, std::string value) const;

  const Kernel& kernel_;
  const std::vector<std::span<const KernelStatement>> phases_;
  const std::span<const KernelStatement> behind_;  // the parallel loops
  const ProductTile* tile_;
  struct Product {
    int accumulator = -1;
    KernelValue left = kNoKernelValue, right = kNoKernelValue;          // narrow: tl.dot itself makes them wide
    const KernelStatement *left_load = nullptr, *right_load = nullptr;  // has_descriptors
  } product_;
  std::unordered_map<const KernelStatement*, Descriptor> descriptors_;
  std::vector<std::string> descriptor_lines_;
  std::string no_descriptors_;  // why the tile cannot be written
  int piece_ = 0;
  std::string text_;
  int depth_ = 0;
  TritonIndex index_;
  bool is_wide_ = false;    // indices are int64
  bool is_coarse_ = false;  // all results are narrow floats: an ulp of float32 on the way is nothing
  int rank_ = 0;            // of blocks
  int64_t block_elements_ = 1;
  std::unordered_map<const KernelLoop*, int> dimension_;
  std::unordered_map<const KernelLoop*, std::string> block_names_, names_;
  std::unordered_map<Expr, const KernelLoop*> lane_axis_;
  Loops open_lanes_;  // around the statement that is written
  std::unordered_map<Expr, KernelValue> bound_;
  struct AccumulatorPlan {
    Loops varies, loops_at_init;  // loops with lanes over which what it gives varies; loops around it
    bool is_in_own_loop = true;   // updated where it was begun, in no loop between
    bool is_direct = true;        // that, and no scan: the state is the value
  };
  std::vector<AccumulatorPlan> accumulators_;
  std::vector<ExpSum> exp_sums_;
  std::vector<std::string> value_text_;
  std::vector<const KernelStatement*> constant_;                      // of values that are constants
  std::unordered_map<KernelValue, const KernelStatement*> plus_one_;  // sums of 1 and the result of that erf or tanh
  std::vector<bool> is_unused_;                                       // values that nothing but such sums used
  std::vector<bool> is_dirty_;                                        // parameters stored to since the last barrier
  int next_value_ = 0, next_loop_ = 0, next_assertion_ = 0;
  int cited_ = -1;
};

}  // namespace litz
