#include "random_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace litz::test {
namespace {

/// Writes the text of a random program.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Choose& choose) : choose_(choose) {}

  std::string run() {
    const int rank = 1 + pick(3);
    for (int d = 0; d < rank; ++d) sizes_.push_back(pick(2) ? symbol() : std::to_string(length()));
    const int inputs = 1 + pick(3);
    for (int k = 0; k < inputs; ++k) add_input();
    const int operations = 1 + pick(4);
    for (int k = 0; k < operations; ++k) {
      if (pick(3) == 0) add_reduction();
      else if (pick(6) == 0) add_scan();
      else add_pointwise();
    }
    std::string text = "program f\n";
    for (const auto& [name, value] : values) text += fmt::format("  symbol {} size in [1, inf] hint {}\n", name, value);
    text += buffers_ + "  parameters ";
    for (size_t k = 0; k < parameters_.size(); ++k) text += (k ? ", " : "") + parameters_[k];
    text += "\n" + operations_ + "  return ";
    for (size_t k = 0; k < outputs_.size(); ++k) text += (k ? ", " : "") + outputs_[k];
    return text + "\n";
  }

  std::map<std::string, int64_t> values;  // of the symbols

 private:
  struct Known {
    std::string name, dtype;
    std::vector<std::string> sizes;  // "1" where broadcast
  };

  int pick(int n) { return choose_(n); }
  int64_t length() {
    static constexpr int64_t kLengths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65};
    return kLengths[pick(15)];
  }
  std::string symbol() {
    std::string name = fmt::format("s{}", values.size());
    values[name] = length();
    parameters_.push_back("(" + name + ")");
    return name;
  }
  std::string float_type() {
    static constexpr const char* kTypes[] = {"f32", "f32", "f32", "bf16", "f16", "f64"};
    return kTypes[pick(6)];
  }

  /// Dense strides in a random order of dimensions.
  std::string strides(const std::vector<std::string>& sizes) {
    std::vector<int> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
    if (pick(2)) {
      for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[static_cast<size_t>(pick(static_cast<int>(k)))]);
    }
    std::vector<std::string> out(sizes.size());
    std::string stride = "1";
    for (size_t k = order.size(); k-- > 0;) {
      out[order[k]] = stride;
      stride = stride == "1" ? sizes[order[k]] : fmt::format("{}*{}", stride, sizes[order[k]]);
    }
    return fmt::format("[{}]", fmt::join(out, ", "));
  }

  void add_input() {
    std::vector<std::string> sizes = sizes_;
    for (std::string& s : sizes) {
      if (pick(4) == 0) s = "1";
    }
    static constexpr const char* kOther[] = {"i64", "i32", "u8", "bool"};
    Known input{fmt::format("x{}", parameters_.size()), pick(4) ? float_type() : kOther[pick(4)], sizes};
    buffers_ += fmt::format("  buffer {} : {}[{}] input strides {}\n", input.name, input.dtype, fmt::join(sizes, ", "), strides(sizes));
    parameters_.push_back("%" + input.name);
    known_.push_back(input);
  }

  Known output(std::string dtype, std::vector<std::string> sizes) {
    Known b{fmt::format("y{}", known_.size()), std::move(dtype), std::move(sizes)};
    const bool escapes = pick(2);
    if (escapes) {
      buffers_ +=
          fmt::format("  buffer {} : {}[{}] strides {} promised escapes\n", b.name, b.dtype, fmt::join(b.sizes, ", "), strides(b.sizes));
      outputs_.push_back("%" + b.name);
    } else {
      buffers_ += fmt::format("  buffer {} : {}[{}] flexible\n", b.name, b.dtype, fmt::join(b.sizes, ", "));
      pending_ = b.name;
    }
    return b;
  }

  std::string coordinates(const Known& b, const std::vector<std::string>& axes) {
    std::vector<std::string> out;
    for (size_t d = 0; d < axes.size(); ++d) {
      const bool flips = pick(12) == 0;
      out.push_back(b.sizes[d] == "1" ? "0" : flips ? fmt::format("{} - 1 - {}", b.sizes[d], axes[d]) : axes[d]);
    }
    return fmt::format("[{}]", fmt::join(out, ", "));
  }

  /// Appends instructions of an expression tree in `dtype`; gives the value's number.
  int tree(std::string& body, int& next, const std::string& dtype, const std::vector<std::string>& axes, int depth) {
    if (depth == 0 || pick(4) == 0) {
      if (pick(6) == 0) {
        body += fmt::format("    v{} = constant {} : {}\n", next, 0.25 * (pick(9) - 4), dtype);
        return next++;
      }
      const Known& b = known_[pick(static_cast<int>(known_.size()))];
      body += fmt::format("    v{} = load {} {}\n", next++, b.name, coordinates(b, axes));
      if (b.dtype == dtype) return next - 1;
      body += fmt::format("    v{} = cast{} v{} : {}\n", next, pick(3) ? "" : "_kept", next - 1, dtype);
      return next++;
    }
    static constexpr const char* kUnary[] = {"tanh", "sigmoid", "relu", "abs", "neg", "erf", "sin"};
    static constexpr int kTanh = 0, kSin = 6;
    static constexpr const char* kBinary[] = {"add", "sub", "minimum", "maximum", "mul"};
    const int a = tree(body, next, dtype, axes, depth - 1);
    if (pick(2)) {
      const int op = pick(7);
      // The sine of a large number shows a rounding of it: a step of bfloat16 at 250 is a radian.
      if (op == kSin) body += fmt::format("    v{} = {} v{}\n", next++, kUnary[kTanh], a);
      body += fmt::format("    v{} = {} v{}\n", next, kUnary[op], op == kSin ? next - 1 : a);
      return next++;
    }
    const int b = tree(body, next, dtype, axes, depth - 1);
    body += fmt::format("    v{} = {} v{} v{}\n", next, kBinary[pick(5)], a, b);
    return next++;
  }

  void add_pointwise() {
    std::vector<std::string> axes, ranges;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      axes.push_back(fmt::format("i{}", d));
      ranges.push_back(fmt::format("i{} < {}", d, sizes_[d]));
    }
    const std::string dtype = float_type();
    std::string body;
    int next = 0;
    const int value = tree(body, next, dtype, axes, 1 + pick(4));
    Known out = output(dtype, sizes_);
    operations_ += fmt::format("  op f{} pointwise ({}) -> {} {{\n{}    yield v{}\n  }}\n", known_.size(), fmt::join(ranges, ", "),
                               out.name, body, value);
    finish(out);
  }

  void add_reduction() {
    static constexpr const char* kKinds[] = {"sum", "max", "min", "welford", "arg_max"};
    const std::string kind = kKinds[pick(5)];
    std::vector<std::string> axes(sizes_.size()), kept, reduced, out_sizes = sizes_;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const bool reduces = pick(2) || (d + 1 == sizes_.size() && reduced.empty());
      axes[d] = fmt::format("{}{}", reduces ? 'r' : 'i', d);
      (reduces ? reduced : kept).push_back(fmt::format("{} < {}", axes[d], sizes_[d]));
      if (!reduces) continue;
      kept.push_back(fmt::format("k{} < 1", d));
      out_sizes[d] = "1";
    }
    std::string body;
    int next = 0;
    const int value = tree(body, next, "f32", axes, pick(3));
    const bool is_arg = kind == "arg_max";
    std::string index;
    if (is_arg) {
      std::string position = "0";
      for (size_t d = 0; d < sizes_.size(); ++d) {
        if (axes[d][0] == 'r') position = fmt::format("({})*{} + {}", position, sizes_[d], axes[d]);
      }
      body += fmt::format("    v{} = index_expr {} : i64\n", next, position);
      index = fmt::format(", v{}", next);
    }
    if (is_arg && !is_exact(body)) return;  // what is nearly equal may be found in another place
    Known out = output(is_arg ? "i64" : "f32", out_sizes);
    std::string outs = out.name;
    if (kind == "welford") {
      Known m2{fmt::format("z{}", known_.size()), "f32", out_sizes};
      buffers_ +=
          fmt::format("  buffer {} : f32[{}] strides {} promised escapes\n", m2.name, fmt::join(out_sizes, ", "), strides(out_sizes));
      outputs_.push_back("%" + m2.name);
      outs += ", " + m2.name;
    }
    operations_ += fmt::format("  op r{} reduction {} f32 ({} ; {}) -> {} {{\n{}    yield v{}{}\n  }}\n", known_.size(), kind,
                               fmt::join(kept, ", "), fmt::join(reduced, ", "), outs, body, value, index);
    finish(out);
  }

  static bool is_exact(const std::string& body) {
    for (const char* op : {"tanh", "sigmoid", "erf", "sin", "add", "sub", "mul", " y", " z"}) {
      if (body.find(op) != std::string::npos) return false;
    }
    return true;
  }

  void add_scan() {
    std::vector<std::string> axes, ranges;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      axes.push_back(fmt::format("i{}", d));
      ranges.push_back(fmt::format("i{} < {}", d, sizes_[d]));
    }
    std::string body;
    int next = 0;
    const int value = tree(body, next, "f32", axes, pick(2));
    Known out = output("f32", sizes_);
    operations_ += fmt::format("  op s{} scan sum f32 along {} ({}) -> {} {{\n{}    yield v{}\n  }}\n", known_.size(),
                               pick(static_cast<int>(sizes_.size())), fmt::join(ranges, ", "), out.name, body, value);
    finish(out);
  }

  /// The last buffer is always seen.
  void finish(const Known& out) {
    known_.push_back(out);
    if (pending_ == out.name) {
      outputs_.push_back("%" + out.name);
      const std::string flexible = fmt::format("  buffer {} : {}[{}] flexible\n", out.name, out.dtype, fmt::join(out.sizes, ", "));
      if (pick(2) == 0) outputs_.pop_back();
      else
        buffers_.replace(buffers_.find(flexible), flexible.size(),
                         fmt::format("  buffer {} : {}[{}] strides {} promised escapes\n", out.name, out.dtype, fmt::join(out.sizes, ", "),
                                     strides(out.sizes)));
    }
    if (outputs_.empty()) outputs_.push_back("%" + out.name);
  }

  const Choose& choose_;
  std::vector<std::string> sizes_, parameters_, outputs_;
  std::vector<Known> known_;
  std::string buffers_, operations_, pending_;
};

}  // namespace

RandomProgram random_program(const Choose& choose) {
  ProgramWriter writer(choose);
  RandomProgram made;
  made.text = writer.run();
  made.sizes = writer.values;
  // Roundings that default numerics drop are seen in every later value; sums collect them.
  if (made.text.find("bf16") != std::string::npos) made.least_tolerance = 0.1;
  else if (made.text.find("f16") != std::string::npos) made.least_tolerance = 0.01;
  else made.least_tolerance = 1e-4;  // float64 that came from float32
  return made;
}

}  // namespace litz::test
