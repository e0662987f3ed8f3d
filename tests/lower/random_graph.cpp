#include "random_graph.h"

#include <algorithm>
#include <functional>
#include <random>

#include "litz/graph/builder.h"

namespace litz {

namespace {

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed),
        graph_(std::make_unique<Graph>("random")),
        builder_(*graph_, graph_->nodes),
        options_(options) {}

  RandomGraph run() {
    make_inputs();
    for (int k = 0; k < options_.steps; ++k) step();
    make_outputs();
    graph_->renumber();
    verify(*graph_);
    return {std::move(graph_), symbol_ ? std::optional(symbol_value_) : std::nullopt, std::move(inputs_)};
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  ExprContext& context() { return *graph_->context; }
  Expr integer(int64_t v) { return context().integer(v); }
  const TensorMeta& meta(Value v) { return v.meta(); }
  bool is_float(Value v) { return is_floating(meta(v).dtype); }
  int64_t value_of(Expr e) {
    std::unordered_map<Expr, int64_t> values;
    if (symbol_) values[symbol_] = symbol_value_;
    return evaluate(e, values);
  }

  Value pick(const std::function<bool(Value)>& accept) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      // Late values more often, so that graphs get deep.
      int k = std::max(below(static_cast<int>(values_.size())), below(static_cast<int>(values_.size())));
      if (accept(values_[static_cast<size_t>(k)])) return values_[static_cast<size_t>(k)];
    }
    return {};
  }
  Value pick_float(size_t least_rank = 0) {
    return pick([&](Value v) { return is_float(v) && meta(v).rank() >= least_rank; });
  }
  void keep(Value v) {
    if (meta(v).rank() <= 4) values_.push_back(v);
  }

  void add_input(DType dtype, std::vector<Expr> sizes, bool is_transposed) {
    Node* node = graph_->new_node(NodeKind::kInput, graph_->unique_name("x"));
    TensorMeta m;
    m.dtype = dtype;
    m.sizes = sizes;
    m.strides = contiguous_strides(context(), sizes);
    std::vector<int64_t> concrete;
    for (Expr e : sizes) concrete.push_back(value_of(e));
    HostTensor t = HostTensor::zeros(dtype, concrete);
    if (is_transposed && sizes.size() == 2) {
      m.strides = {integer(1), sizes[0]};
      t.strides = {1, concrete[0]};
    }
    for_each_coordinate(concrete, [&](const std::vector<int64_t>& at) {
      t.set(at, is_floating(dtype) ? scalar_of(dtype, (below(41) - 20) / 4.0) : scalar_of(dtype, static_cast<int64_t>(below(3))));
    });
    node->outputs.push_back(m);
    graph_->inputs.push_back(node);
    inputs_.parameters.emplace_back(t);
    values_.push_back(node->value());
    tensors_.push_back(node);
  }

  void make_inputs() {
    Expr rows = integer(4);
    if (below(2)) {
      symbol_value_ = 1 + below(5);
      symbol_ = context().symbol("s0", SymbolKind::kSize, {1, kIntInf}, 4);
      Node* node = graph_->new_node(NodeKind::kInput, "s0");
      node->symbol = symbol_;
      graph_->inputs.push_back(node);
      inputs_.parameters.emplace_back(symbol_value_);
      rows = symbol_;
    }
    add_input(DType::kFloat32, {rows, integer(6)}, below(2));
    add_input(options_.is_smooth || below(3) ? DType::kFloat32 : DType::kBFloat16, {integer(6)}, false);
    add_input(DType::kFloat32, {integer(2), rows, integer(6)}, false);
    add_input(DType::kInt64, {rows}, false);
    add_input(DType::kBool, {rows, integer(1)}, false);
    add_input(DType::kFloat32, {integer(6), integer(6)}, below(2));
  }

  bool can_broadcast(Value a, Value b) {
    const auto &x = meta(a).sizes, &y = meta(b).sizes;
    for (size_t k = 1; k <= std::min(x.size(), y.size()); ++k) {
      Expr p = x[x.size() - k], q = y[y.size() - k];
      if (!(p == q) && !p.is_integer(1) && !q.is_integer(1)) return false;
    }
    return true;
  }

  int dim_of(Value v) { return below(static_cast<int>(meta(v).rank())); }

  void step() {
    static const std::vector<void (Generator::*)()> kSteps = {
        &Generator::unary,          &Generator::unary,     &Generator::binary,  &Generator::binary,      &Generator::binary,
        &Generator::select_where,   &Generator::transpose, &Generator::flatten, &Generator::slice,       &Generator::expand,
        &Generator::reduce,         &Generator::reduce,    &Generator::scan,    &Generator::concatenate, &Generator::pad,
        &Generator::flip,           &Generator::roll,      &Generator::gather,  &Generator::scatter,     &Generator::slice_scatter,
        &Generator::matrix_product, &Generator::write};
    (this->*kSteps[static_cast<size_t>(below(static_cast<int>(kSteps.size())))])();
  }

  void unary() {
    static constexpr std::string_view kOps[] = {"aten.neg", "aten.relu", "aten.abs", "aten.sigmoid", "aten.tanh", "aten.floor"};
    if (Value v = pick_float()) keep(builder_.call(kOps[below(options_.is_smooth ? 5 : 6)], {v}));
  }
  void binary() {
    Value a = pick_float();
    if (!a) return;
    Value b = pick([&](Value v) { return can_broadcast(a, v); });
    Argument right = b && below(4) ? Argument(b) : Argument(0.75);
    switch (below(4)) {
      case 0: keep(builder_.add(a, right)); break;
      case 1: keep(builder_.sub(a, right)); break;
      case 2: keep(builder_.mul(a, right)); break;
      default: keep(builder_.call("aten.maximum", {a, b ? b : a})); break;
    }
  }
  void select_where() {
    if (options_.is_smooth) return;
    Value a = pick_float(), b = a ? pick([&](Value v) { return is_float(v) && can_broadcast(a, v); }) : Value{};
    if (b) keep(builder_.where(builder_.gt(a, b), a, 0.5));
  }
  void transpose() {
    Value v = pick([&](Value x) { return meta(x).rank() >= 2; });
    if (!v) return;
    std::vector<int64_t> dims(meta(v).rank());
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    std::shuffle(dims.begin(), dims.end(), random_);
    keep(builder_.permute(v, dims));
  }
  void flatten() {
    Value v = pick([&](Value x) { return meta(x).rank() >= 2; });
    if (!v) return;
    std::vector<Expr> sizes = meta(v).sizes;
    size_t d = static_cast<size_t>(below(static_cast<int>(sizes.size()) - 1));
    sizes[d] = sizes[d] * sizes[d + 1];
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(d) + 1);
    if (below(2)) {  // split the last dimension instead, where it is even
      sizes = meta(v).sizes;
      if (!sizes.back().is_integer() || sizes.back().integer() % 2 || sizes.back().is_integer(0)) return;
      Expr half = integer(sizes.back().integer() / 2);
      sizes.back() = half;
      sizes.push_back(integer(2));
    }
    keep(builder_.reshape(v, sizes));
  }
  void slice() {
    Value v = pick_float(1);
    if (!v) return;
    int d = dim_of(v);
    Expr size = meta(v).sizes[static_cast<size_t>(d)];
    if (!size.is_integer() || size.integer() < 2) return;
    int64_t start = below(2), end = size.integer() - below(2), step = 1 + below(2);
    if (start < end) keep(builder_.slice(v, d, integer(start), integer(end), step));
  }
  void expand() {
    Value v = pick_float(1);
    if (!v || meta(v).rank() > 2) return;
    Value u = builder_.unsqueeze(v, 0);
    std::vector<Expr> sizes = meta(u).sizes;
    sizes[0] = integer(2);
    keep(builder_.expand(u, sizes));
  }
  void reduce() {
    Value v = pick_float(1);
    if (!v) return;
    int64_t d = dim_of(v);
    bool keepdim = below(2);
    switch (below(options_.is_smooth ? 2 : 4)) {
      case 0: keep(builder_.sum(v, std::array{d}, keepdim)); break;
      case 1: keep(builder_.call("aten.amax", {v, ArgumentList{d}, keepdim})); break;
      case 2: keep(builder_.call("aten.argmax", {v, d, keepdim})); break;
      default: {
        Node* node = builder_.node("aten.var_mean.correction", {v, ArgumentList{d}, int64_t{0}, keepdim});
        keep(node->value(0));
        keep(node->value(1));
      }
    }
  }
  void scan() {
    if (Value v = pick_float(1)) keep(builder_.call("aten.cumsum", {v, static_cast<int64_t>(dim_of(v))}));
  }
  void concatenate() {
    Value a = pick_float(1);
    if (!a) return;
    auto d = static_cast<size_t>(dim_of(a));
    Value b = pick([&](Value v) {
      if (!is_float(v) || meta(v).rank() != meta(a).rank()) return false;
      for (size_t k = 0; k < meta(a).rank(); ++k)
        if (k != d && !(meta(v).sizes[k] == meta(a).sizes[k])) return false;
      return true;
    });
    if (b) keep(builder_.call("aten.cat", {ArgumentList{a, b, a}, static_cast<int64_t>(d)}));
  }
  void pad() {
    if (Value v = pick_float(1)) keep(builder_.call("aten.constant_pad_nd", {v, ArgumentList{int64_t{1}, int64_t{below(2)}}, 2.5}));
  }
  void flip() {
    if (Value v = pick_float(1)) keep(builder_.call("aten.flip", {v, ArgumentList{static_cast<int64_t>(dim_of(v))}}));
  }
  void roll() {
    if (Value v = pick_float(1))
      keep(builder_.call("aten.roll", {v, ArgumentList{int64_t{1 + below(3)}}, ArgumentList{static_cast<int64_t>(dim_of(v))}}));
  }
  /// Integers in [0, size): 2 * i mod size.
  Value places(Expr count, Expr size) {
    Value i = builder_.iota(count, Device{}, int64_t{below(3)}, int64_t{2});
    return builder_.call("aten.remainder.Tensor", {i, GraphBuilder::size_argument(size)});
  }
  void gather() {
    Value v = pick_float(1);
    if (!v || value_of(meta(v).sizes[0]) == 0) return;
    Value i = places(integer(3), meta(v).sizes[0]);
    keep(builder_.call("aten.index.Tensor", {v, ArgumentList{i}}));
  }
  void scatter() {
    Value v = pick_float(1);
    if (!v || value_of(meta(v).sizes[0]) == 0) return;
    Value i = places(integer(3), meta(v).sizes[0]);
    Value taken = builder_.call("aten.index.Tensor", {v, ArgumentList{i}});
    keep(builder_.call("aten.index_put", {v, ArgumentList{i}, builder_.call("aten.neg", {taken}), true}));
  }
  void slice_scatter() {
    Value v = pick_float(1);
    if (!v) return;
    int d = dim_of(v);
    Expr size = meta(v).sizes[static_cast<size_t>(d)];
    if (!size.is_integer() || size.integer() < 3) return;
    Value part = builder_.slice(v, d, integer(1), integer(size.integer() - 1), 1);
    keep(builder_.call("aten.slice_scatter",
                       {v, builder_.mul(part, 3.0), static_cast<int64_t>(d), int64_t{1}, size.integer() - 1, int64_t{1}}));
  }
  void matrix_product() {
    if (!options_.has_products) return;
    Value a = pick([&](Value v) { return meta(v).dtype == DType::kFloat32 && meta(v).rank() == 2; });
    if (!a) return;
    Value b =
        pick([&](Value v) { return meta(v).dtype == DType::kFloat32 && meta(v).rank() == 2 && meta(v).sizes[0] == meta(a).sizes[1]; });
    // Small factors keep the values of long chains finite.
    if (b) keep(builder_.mul(builder_.call("aten.mm", {a, b}), 0.05));
  }
  void write() {
    Node* target = tensors_[static_cast<size_t>(below(static_cast<int>(tensors_.size())))];
    if (!is_floating(target->outputs[0].dtype)) return;
    Value source = pick([&](Value v) { return is_float(v) && meta(v).sizes == target->outputs[0].sizes && v.node != target; });
    if (!source) return;
    Value into = target->value();
    if (below(2) && meta(into).sizes.back().is_integer(6)) {
      int64_t last = static_cast<int64_t>(meta(into).rank()) - 1;
      into = builder_.slice(into, last, integer(1), integer(5));
      source = builder_.slice(source, last, integer(0), integer(4));
    }
    builder_.call("aten.copy_", {into, source});
  }

  void make_outputs() {
    size_t first = values_.size() > 4 ? values_.size() - 4 : 0;
    for (size_t k = first; k < values_.size(); ++k) graph_->outputs.push_back({values_[k], below(3) > 0});
    if (symbol_) graph_->outputs.push_back({symbol_ * 2 + 1});
  }

  std::mt19937_64 random_;
  std::unique_ptr<Graph> graph_;
  GraphBuilder builder_;
  RandomGraphOptions options_;
  ReferenceInputs inputs_;
  std::vector<Value> values_;
  std::vector<Node*> tensors_;
  Expr symbol_;
  int64_t symbol_value_ = 0;
};

}  // namespace

RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Generator(seed, options).run(); }

}  // namespace litz
