#include "litz/schedule/split_reduction.h"

#include <algorithm>
#include <functional>

#include "litz/loop/replay.h"
#include "litz/schedule/pieces.h"

namespace litz {
namespace {

/// How the reduced axis `axis` (an index into Operation::axes) is cut.
struct Cut {
  int axis = 0;
  int64_t pieces = 0;
  Expr length;          // elements of the axis in a piece
  bool is_even = true;  // the pieces cover exactly the axis
};

/// Values that the body of a reduction or of a pointwise operation yields, given the values of the original body.
using Yield = std::function<std::vector<ValueId>(BodyBuilder&, const std::vector<ValueId>&)>;

class Splitter {
 public:
  Splitter(LoopProgram& program, std::vector<Refusal>& refusals, const SplitOptions& options)
      : program_(program),
        context_(*program.context),
        refusals_(refusals),
        options_(options) {}

  bool run() {
    return replace_operations(program_, [&](Operation& op) {
      const auto cut = op.kind == OperationKind::kReduction ? find_cut(op) : std::nullopt;
      if (cut) split(op, *cut);
      return cut.has_value();
    });
  }

 private:
  void refuse(const Operation& op, std::string reason) {
    refusals_.push_back({"split_reduction", op.name, op.outputs[0]->name, std::move(reason)});
  }

  std::optional<Cut> find_cut(const Operation& op) {
    int64_t values = 1, elements = 1;
    for (int d = 0; d < op.rank; ++d) values *= std::max<int64_t>(1, likely_size(op.axes[static_cast<size_t>(d)].extent()));
    int longest = -1;
    for (int d = op.rank; d < static_cast<int>(op.axes.size()); ++d) {
      const int64_t extent = likely_size(op.axes[static_cast<size_t>(d)].extent());
      elements *= std::max<int64_t>(1, extent);
      if (longest < 0 || extent > likely_size(op.axes[static_cast<size_t>(longest)].extent())) longest = d;
    }
    const int64_t least = std::max(options_.least_elements, 2 * options_.piece_elements);
    if (longest < 0 || values >= options_.enough_values || elements < least) return std::nullopt;
    if (options_.exact_only && !reduction_traits(op.reduction).is_exact && is_floating(op.accumulate)) {
      refuse(op, fmt::format("{} values of {} elements each, but the order of combining must be eager's", values, elements));
      return std::nullopt;
    }
    if (op.reduction == ReductionKind::kLogSumExp) {
      refuse(op, fmt::format("{} values of {} elements each: pairs of a maximum and a sum are not combined from pieces", values, elements));
      return std::nullopt;
    }
    const Expr extent = op.axes[static_cast<size_t>(longest)].extent();
    const int64_t shared = options_.enough_pieces ? std::max<int64_t>(2, options_.enough_pieces / values) : options_.most_pieces;
    const int64_t wanted = std::min({options_.most_pieces, shared, elements / options_.piece_elements, likely_size(extent)});
    if (wanted < 2) return std::nullopt;
    Cut cut{longest, even_pieces(extent, wanted), {}, false};
    cut.is_even = extent.is_integer() && extent.integer() % cut.pieces == 0;
    cut.length = ceil_div(extent, context_.integer(cut.pieces));
    return cut;
  }

  Operation* new_operation(OperationKind kind, const std::string& name, const Operation& from) {
    Operation* made = program_.new_operation(kind, name);
    made->sources = from.sources;
    return made;
  }

  Buffer* new_buffer(const std::string& name, DType dtype, std::vector<Expr> sizes, const Operation& from) {
    Buffer* made = program_.new_buffer(name, dtype, std::move(sizes), from.outputs[0]->device);
    made->source = from.outputs[0]->source;
    return made;
  }

  std::vector<Expr> fresh_axes(std::span<const Expr> like) {
    std::vector<Expr> axes;
    for (Expr a : like) axes.push_back(context_.axis("i", a.extent()));
    return axes;
  }

  /// The reduction of every piece: dimensions of `op`, then the piece. `absent` is what elements behind the end yield.
  std::vector<Buffer*> reduce_pieces(const Operation& op, const Cut& cut, const std::string& name, ReductionKind kind, DType accumulate,
                                     const std::vector<DType>& dtypes, const std::vector<Number>& absent, const Yield& yield) {
    Operation* pieces = new_operation(OperationKind::kReduction, name, op);
    const auto rank = static_cast<size_t>(op.rank);
    pieces->axes = fresh_axes(std::span(op.axes).first(rank));
    const Expr piece = context_.axis("c", context_.integer(cut.pieces));
    pieces->axes.push_back(piece);
    Substitution map;
    for (size_t d = 0; d < rank; ++d) map.emplace_back(op.axes[d], pieces->axes[d]);
    Expr position;
    for (size_t d = rank; d < op.axes.size(); ++d) {
      const bool is_cut = static_cast<int>(d) == cut.axis;
      const Expr axis = context_.axis("r", is_cut ? cut.length : op.axes[d].extent());
      pieces->axes.push_back(axis);
      map.emplace_back(op.axes[d], is_cut ? position = piece * cut.length + axis : axis);
    }
    pieces->rank = op.rank + 1;
    pieces->reduction = kind;
    pieces->accumulate = accumulate;
    BodyBuilder b(context_);
    ValueId inside = kNoValue;
    if (!cut.is_even) inside = b.lt(b.index_expr(position), b.index_expr(op.axes[static_cast<size_t>(cut.axis)].extent()));
    Replay replay(b, std::move(map));
    const std::vector<ValueId> yielded = yield(b, replay.run(op.body, inside));
    for (size_t k = 0; k < yielded.size(); ++k)
      b.yield(inside == kNoValue ? yielded[k] : b.where(inside, yielded[k], b.constant(b.dtype_of(yielded[k]), absent[k])));
    pieces->body = b.take();
    std::vector<Expr> sizes;
    for (int d = 0; d < pieces->rank; ++d) sizes.push_back(pieces->axes[static_cast<size_t>(d)].extent());
    std::vector<Buffer*> made;
    for (DType dtype : dtypes) made.push_back(new_buffer(name, dtype, sizes, op));
    program_.set_outputs(pieces, made);
    return made;
  }

  /// Combines pieces into `outputs`.
  void combine(const Operation& op, const std::string& name, ReductionKind kind, DType accumulate, const std::vector<Buffer*>& pieces,
               const std::vector<Buffer*>& outputs) {
    Operation* whole = new_operation(OperationKind::kReduction, name, op);
    whole->axes = fresh_axes(std::span(op.axes).first(static_cast<size_t>(op.rank)));
    whole->rank = op.rank;
    whole->axes.push_back(context_.axis("c", pieces[0]->sizes.back()));
    whole->reduction = kind;
    whole->accumulate = accumulate;
    BodyBuilder b(context_);
    for (Buffer* p : pieces) b.yield(b.load(p, whole->axes));
    whole->body = b.take();
    program_.set_outputs(whole, outputs);
  }

  void split(const Operation& op, const Cut& cut) {
    if (op.reduction == ReductionKind::kWelford) return split_variance(op, cut);
    const auto& yields = op.body.yields;
    const Yield original = [&](BodyBuilder&, const std::vector<ValueId>& values) {
      std::vector<ValueId> made;
      for (ValueId y : yields) made.push_back(values[static_cast<size_t>(y)]);
      return made;
    };
    const std::string name = op.name + "_pieces";
    ReductionKind kind = op.reduction;
    std::vector<DType> dtypes{op.accumulate};
    std::vector<Number> absent{reduction_identity(kind, op.body.yield_dtype(0))};
    if (reduction_traits(kind).inputs == 2) {
      if (kind == ReductionKind::kArgMin) kind = ReductionKind::kMinWithIndex;
      if (kind == ReductionKind::kArgMax) kind = ReductionKind::kMaxWithIndex;
      dtypes.push_back(DType::kInt64);
      absent.push_back(Number::of(kNoIndex));
    }
    const std::vector<Buffer*> pieces = reduce_pieces(op, cut, name, kind, op.accumulate, dtypes, absent, original);
    combine(op, op.name, op.reduction, op.accumulate, pieces, op.outputs);
  }

  /// mean = sum(x) / n, m2 = sum((x - mean)^2): two passes, each in pieces. float64 has room for the sum of any float32 numbers.
  void split_variance(const Operation& op, const Cut& cut) {
    constexpr DType kWide = DType::kFloat64;
    const ValueId yielded = op.body.yields[0];
    const auto rank = static_cast<size_t>(op.rank);
    std::vector<Expr> sizes;
    for (size_t d = 0; d < rank; ++d) sizes.push_back(op.axes[d].extent());
    Expr count = context_.integer(1);
    for (size_t d = rank; d < op.axes.size(); ++d) count = count * op.axes[d].extent();
    auto sum = [&](const std::string& name, const Yield& yield) {
      const auto pieces = reduce_pieces(op, cut, name + "_pieces", ReductionKind::kSum, kWide, {kWide}, {Number::of(0.0)}, yield);
      Buffer* total = new_buffer(name, kWide, sizes, op);
      combine(op, name, ReductionKind::kSum, kWide, pieces, {total});
      return total;
    };
    auto pointwise = [&](const std::string& name, Buffer* output,
                         const std::function<ValueId(BodyBuilder&, std::span<const Expr>)>& value) {
      Operation* made = new_operation(OperationKind::kPointwise, name, op);
      made->axes = fresh_axes(std::span(op.axes).first(rank));
      made->rank = op.rank;
      BodyBuilder b(context_);
      b.yield(value(b, made->axes));
      made->body = b.take();
      program_.set_outputs(made, {output});
    };
    Buffer* total = sum(op.name + "_sum", [&](BodyBuilder& b, const std::vector<ValueId>& values) {
      return std::vector{b.cast(values[static_cast<size_t>(yielded)], kWide)};
    });
    Buffer* mean = new_buffer(op.name + "_wide_mean", kWide, sizes, op);
    pointwise(op.name + "_wide_mean", mean, [&](BodyBuilder& b, std::span<const Expr> at) {
      return b.div(b.load(total, {at.begin(), at.end()}), b.cast(b.index_expr(count), kWide));
    });
    // The pieces have axes of their own: the mean is read where they stand, which is the first `rank` of them.
    Buffer* squares = sum(op.name + "_squares", [&](BodyBuilder& b, const std::vector<ValueId>& values) {
      const auto& axes = program_.operations.back()->axes;
      const ValueId apart =
          b.sub(b.cast(values[static_cast<size_t>(yielded)], kWide), b.load(mean, {axes.begin(), axes.begin() + op.rank}));
      return std::vector{b.mul(apart, apart)};
    });
    auto narrow = [&](Buffer* from) {
      return [from](BodyBuilder& b, std::span<const Expr> at) { return b.load(from, {at.begin(), at.end()}); };
    };
    for (size_t k = 0; k < 2; ++k) {
      const auto load = narrow(k == 0 ? mean : squares);
      pointwise(op.name + (k == 0 ? "_mean" : "_m2"), op.outputs[k],
                [&](BodyBuilder& b, std::span<const Expr> at) { return b.cast(load(b, at), op.outputs[k]->dtype); });
    }
  }

  LoopProgram& program_;
  ExprContext& context_;
  std::vector<Refusal>& refusals_;
  const SplitOptions& options_;
};

}  // namespace

bool split_reduction(LoopProgram& program, std::vector<Refusal>& refusals, const SplitOptions& options) {
  return Splitter(program, refusals, options).run();
}

}  // namespace litz
