#include "litz/schedule/split_scan.h"

#include <algorithm>

#include "litz/loop/replay.h"
#include "litz/schedule/pieces.h"

namespace litz {
namespace {

bool is_extremum(ReductionKind kind) { return kind == ReductionKind::kMinWithIndex || kind == ReductionKind::kMaxWithIndex; }

class ScanSplitter {
 public:
  ScanSplitter(LoopProgram& program, std::vector<Refusal>& refusals, const ScanSplitOptions& options)
      : program_(program),
        context_(*program.context),
        refusals_(refusals),
        options_(options) {}

  bool run() {
    return replace_operations(program_, [&](Operation& op) {
      const int64_t pieces = op.kind == OperationKind::kScan ? find_pieces(op) : 1;
      if (pieces > 1) split(op, pieces);
      return pieces > 1;
    });
  }

 private:
  int64_t find_pieces(const Operation& op) {
    if (is_sort(op.reduction)) return 1;
    int64_t rows = 1;
    for (const Expr axis : op.axes) {
      if (axis != scanned(op)) rows *= std::max<int64_t>(1, likely_size(axis.extent()));
    }
    const Expr extent = scanned(op).extent();
    const int64_t elements = likely_size(extent);
    if (rows >= options_.enough_rows || elements < 8 * options_.piece_elements) return 1;
    auto refuse = [&](std::string_view reason) {
      refusals_.push_back(
          {"split_scan", op.name, op.outputs[0]->name, fmt::format("{} rows of {} elements, but {}", rows, elements, reason)});
      return 1;
    };
    if (options_.exact_only && is_floating(op.accumulate) && !is_extremum(op.reduction))
      return refuse("the order of combining must be eager's");
    if (op.reduction == ReductionKind::kLogSumExp) return refuse("logarithms of sums are not combined from pieces");
    return even_pieces(extent, std::min(options_.most_pieces, elements / options_.piece_elements));
  }

  static Expr scanned(const Operation& op) { return op.axes[static_cast<size_t>(op.scan_axis)]; }

  /// An operation like `op` with these axes, and buffers of their sizes for what it gives; its body is still to be set.
  std::vector<Buffer*> add(const Operation& op, const std::string& name, std::vector<Expr> axes, int scan_axis) {
    Operation* made = program_.new_operation(OperationKind::kScan, name);
    made->sources = op.sources;
    made->axes = std::move(axes);
    made->rank = static_cast<int>(made->axes.size());
    made->scan_axis = scan_axis;
    made->reduction = op.reduction;
    made->accumulate = op.accumulate;
    std::vector<Expr> sizes;
    for (Expr axis : made->axes) sizes.push_back(axis.extent());
    std::vector<Buffer*> buffers;
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const DType dtype = k == 0 ? op.accumulate : op.outputs[k]->dtype;
      buffers.push_back(program_.new_buffer(k == 0 ? name : fmt::format("{}_index", name), dtype, sizes, op.outputs[0]->device));
      buffers.back()->source = op.outputs[0]->source;
    }
    program_.set_outputs(made, buffers);
    return buffers;
  }

  std::vector<Expr> fresh_axes(const Operation& op) {
    std::vector<Expr> axes;
    for (const Expr axis : op.axes) axes.push_back(context_.axis("i", axis.extent()));
    return axes;
  }

  void split(Operation& op, int64_t count) {
    const auto d = static_cast<size_t>(op.scan_axis);
    const Expr extent = scanned(op).extent();
    const Expr length = ceil_div(extent, context_.integer(count));
    const Expr piece = context_.axis("c", context_.integer(count)), place = context_.axis("r", length);
    const Expr position = piece * length + place;

    std::vector<Expr> axes = fresh_axes(op);
    Substitution map;
    for (size_t k = 0; k < axes.size(); ++k) map.emplace_back(op.axes[k], k == d ? position : axes[k]);
    axes[d] = piece;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(d) + 1, place);
    const std::vector<Buffer*> pieces = add(op, op.name + "_pieces", axes, op.scan_axis + 1);
    BodyBuilder b(context_);
    const bool is_even = extent.is_integer() && extent.integer() % count == 0;
    const ValueId inside = is_even ? kNoValue : b.lt(b.index_expr(position), b.index_expr(extent));
    Replay replay(b, std::move(map));
    const std::vector<ValueId> values = replay.run(op.body, inside);
    for (ValueId y : op.body.yields) b.yield(values[static_cast<size_t>(y)]);
    program_.operations.back()->body = b.take();

    axes = fresh_axes(op);
    axes[d] = context_.axis("c", context_.integer(count));
    const std::vector<Buffer*> totals = add(op, op.name + "_totals", axes, op.scan_axis);
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(d) + 1, length - 1);
    BodyBuilder ends(context_);
    for (Buffer* buffer : pieces) ends.yield(ends.load(buffer, axes));
    program_.operations.back()->body = ends.take();

    combine(op, length, pieces, totals);
  }

  /// Each value after what the pieces before its own came to.
  void combine(Operation& op, Expr length, const std::vector<Buffer*>& pieces, const std::vector<Buffer*>& totals) {
    const auto d = static_cast<size_t>(op.scan_axis);
    Operation* made = program_.new_operation(OperationKind::kPointwise, op.name);
    made->sources = op.sources;
    made->axes = fresh_axes(op);
    made->rank = static_cast<int>(made->axes.size());
    std::vector<Expr> own = made->axes, before = made->axes;
    const Expr piece = floor_div(made->axes[d], length);
    own[d] = piece;
    own.insert(own.begin() + static_cast<std::ptrdiff_t>(d) + 1, made->axes[d] - piece * length);
    before[d] = piece - 1;
    BodyBuilder b(context_);
    const ValueId is_later = b.ge(b.index_expr(made->axes[d]), b.index_expr(length));
    const ValueId value = b.load(pieces[0], own), earlier = b.load(totals[0], before, is_later);
    if (is_extremum(op.reduction)) {
      ValueId wins = op.reduction == ReductionKind::kMinWithIndex ? b.le(value, earlier) : b.ge(value, earlier);
      if (is_floating(op.accumulate)) wins = b.logical_or(wins, b.isnan(value));
      wins = b.logical_or(wins, b.logical_not(is_later));
      b.yield(b.where(wins, value, earlier));
      b.yield(b.where(wins, b.load(pieces[1], own), b.load(totals[1], before, is_later)));
    } else {
      const ValueId both = op.reduction == ReductionKind::kSum ? b.add(earlier, value) : b.mul(earlier, value);
      b.yield(b.cast(b.where(is_later, both, value), op.outputs[0]->dtype));
    }
    made->body = b.take();
    program_.set_outputs(made, op.outputs);
  }

  LoopProgram& program_;
  ExprContext& context_;
  std::vector<Refusal>& refusals_;
  const ScanSplitOptions& options_;
};

}  // namespace

bool split_scan(LoopProgram& program, std::vector<Refusal>& refusals, const ScanSplitOptions& options) {
  return ScanSplitter(program, refusals, options).run();
}

}  // namespace litz
