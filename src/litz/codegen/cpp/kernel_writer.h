#pragma once
// The state behind kernel_text: what each value is called, and the text so far.
#include <fmt/format.h>

#include <unordered_map>

#include "litz/codegen/cpp/index_text.h"
#include "litz/kernel/kernel.h"

namespace litz {

class KernelWriter {
 public:
  explicit KernelWriter(const Kernel& kernel);
  std::string run(const std::string& entry);

 private:
  // kernel_writer.cpp: the frame, loops
  void write_head();
  void write_parallel();
  void write_body(const std::vector<KernelStatement>& body);
  void write_loop(const KernelStatement& s) { write_loop(*s.loop); }
  void write_loop(const KernelLoop& loop);
  void write_steps(const KernelLoop& loop, const std::string& begin, const std::string& end);
  void write_lane_steps(const KernelLoop& loop, const std::string& begin, const std::string& end, bool ends_inside);
  /// Unrolling costs compile time and gains nothing: the lanes are the parallelism.
  void keep_rolled() { line("LITZ_ROLLED"); }
  bool write_transposing_copy(const KernelLoop& loop);
  void write_cascaded(const KernelLoop& loop);
  std::string open_axis(const KernelLoop& loop);
  void close_axis(const KernelLoop& loop);
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // statement_text.cpp: one statement
  void write_statement(const KernelStatement& s);
  void write_load(const KernelStatement& s);
  void write_store(const KernelStatement& s);
  void write_combining_store(const KernelStatement& s, const std::string& pointer, Expr stride, const std::string& value);
  void write_compute(const KernelStatement& s);
  void write_cast(const KernelStatement& s);
  void write_index_expr(const KernelStatement& s);
  void write_init(const KernelStatement& s);
  void write_update(const KernelStatement& s);
  void write_finish(const KernelStatement& s);
  std::string compute_text(const KernelStatement& s);
  void define(KernelValue v, const std::string& expression);
  bool varies(KernelValue v) const { return !kernel_.values[v].varies.empty(); }
  /// The value's text, made a vector if `vector` asks for it and it is uniform.
  std::string operand(KernelValue v, bool vector) const;
  std::string operand(KernelValue v, bool vector, DType dtype) const;
  std::string pointer(Memory memory) const;
  std::string offset_vector(Expr offset) const;
  std::string accumulator_type(int accumulator) const;
  std::string tag(bool vector) const { return vector ? "l" : "one"; }
  void find_uses();

  const Kernel& kernel_;
  std::string text_;
  int depth_ = 0;
  IndexText index_;
  std::vector<std::string> value_text_;
  std::vector<bool> only_stored_;  // a cast to a narrow type whose rounding the store does
  std::vector<bool> is_copied_;    // a load whose bits go to stores as they are
  std::vector<bool> nonzero_;      // constants that divide without a check
  std::vector<int> accumulator_width_;
  std::vector<std::string> accumulator_name_;  // that updates go to
  int lanes_ = 1;                              // of the open loop with lanes
  int loops_ = 0, next_value_ = 0, next_assertion_ = 0;
};

}  // namespace litz
