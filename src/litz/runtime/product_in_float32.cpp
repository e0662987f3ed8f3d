// Products of narrow floats where the framework only emulates their arithmetic: pieces of the operands are widened into scratch that
// stays in the caches, the float32 function computes the piece, and the result is rounded to the op's own type once.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "litz/runtime/executor.h"
#include "litz/runtime/extern_call.h"
#include "litz/support/dtype.h"

namespace litz::runtime {
namespace {

// What is widened at a time: little beside what a model's call holds anyway, and enough that a conversion is used hundreds of times.
constexpr int64_t kBlockElements = 64 << 10;   // of one operand's piece of a large product: 256 KB
constexpr int64_t kLargestBlock = 256;         // of one dimension
constexpr int64_t kSmallProduct = 64 << 10;    // elements of all operands below which several of a batch go together
constexpr int64_t kBatchElements = 256 << 10;  // of the operands of those
constexpr int64_t kImageElements = 1 << 20;    // of the images of a convolution that go together, before and after it
constexpr int64_t kWeightElements = 1 << 20;   // of the weights of the channels that a convolution computes together

/// A failure of the framework, on the way to the function that torch called: its text stays with torch.
struct Failed {};
void check(int code) {
  if (code) throw Failed{};
}

/// An owned tensor handle.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const TorchApi& api, TensorHandle handle) : api_(&api), handle_(handle) {}
  Tensor(Tensor&& o) noexcept : api_(o.api_), handle_(std::exchange(o.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& o) noexcept {
    std::swap(api_, o.api_);
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) api_->aoti_torch_delete_tensor_object(handle_);
  }
  TensorHandle get() const { return handle_; }
  TensorHandle release() { return std::exchange(handle_, nullptr); }

 private:
  const TorchApi* api_ = nullptr;
  TensorHandle handle_ = nullptr;
};

using Dimensions = std::vector<int64_t>;

int64_t count(const Dimensions& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

/// Where a tensor's elements are. `base` is not owned.
struct Layout {
  TensorHandle base = nullptr;
  Dimensions sizes, strides;
};

class Torch {
 public:
  explicit Torch(const TypedFunctions& f) : api(f.api), device(f.api.device_type(f.device)) {}

  Layout layout(TensorHandle tensor) const {
    int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
    check(api.aoti_torch_get_dim(tensor, &rank));
    check(api.aoti_torch_get_sizes(tensor, &sizes));
    check(api.aoti_torch_get_strides(tensor, &strides));
    return {tensor, {sizes, sizes + rank}, {strides, strides + rank}};
  }
  Tensor empty(const Dimensions& sizes, const Dimensions& strides, DType dtype) const {
    TensorHandle made = nullptr;
    check(api.aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), dtype_torch_code(dtype), device, 0,
                                       &made));
    return Tensor(api, made);
  }
  Tensor view(TensorHandle base, const Dimensions& sizes, const Dimensions& strides, int64_t offset) const {
    TensorHandle made = nullptr;
    check(api.aoti_torch__reinterpret_tensor(base, static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), offset, &made));
    return Tensor(api, made);
  }
  void copy(TensorHandle to, TensorHandle from) const { check(api.aoti_torch_copy_(to, from, 0)); }

  /// The part of a tensor that begins at `begin`; dimensions of size 1 are repeated.
  Tensor part(const Layout& whole, const Dimensions& begin, const Dimensions& sizes) const {
    Dimensions strides = whole.strides;
    int64_t offset = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (whole.sizes[d] == 1 && sizes[d] != 1) strides[d] = 0;
      else if (whole.sizes[d] != 1) offset += begin[d] * strides[d];
    }
    return view(whole.base, sizes, strides, offset);
  }
  /// Strides that pack `sizes` in the order that `like` has them in memory.
  static Dimensions packed(const Dimensions& sizes, const Dimensions& like) {
    Dimensions order(sizes.size()), strides(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return like[a] > like[b]; });
    int64_t next = 1;
    for (size_t k = order.size(); k-- > 0;) {
      strides[order[k]] = next;
      next *= std::max<int64_t>(1, sizes[order[k]]);
    }
    return strides;
  }
  /// A part, in float32 and packed.
  Tensor widened(const Layout& whole, const Dimensions& begin, const Dimensions& sizes) const {
    Tensor wide = empty(sizes, packed(sizes, whole.strides), DType::kFloat32);
    copy(wide.get(), part(whole, begin, sizes).get());
    return wide;
  }
  Tensor widened(const Layout& whole) const { return widened(whole, Dimensions(whole.sizes.size(), 0), whole.sizes); }

  const TorchApi& api;
  const int32_t device;
};

/// out = beta * start + alpha * a b; without `start`: a b.
struct Product {
  Layout out, a, b;
  const Layout* start = nullptr;
  double beta = 1, alpha = 1;
};

struct MatrixFunctions {
  TwoIntoOut multiply;
  ThreeIntoOut add;
};

/// Matrices, or batches of which each piece takes `batch` at once: sizes are (batch,) rows, columns.
class Multiplication {
 public:
  Multiplication(const Torch& torch, const MatrixFunctions& functions, const Product& product)
      : torch_(torch),
        f_(functions),
        p_(product),
        batched_(product.out.sizes.size() == 3) {}

  void run() {
    const size_t r = batched_;
    m_ = p_.out.sizes[r], n_ = p_.out.sizes[r + 1], k_ = p_.a.sizes[r + 1];
    const int64_t batches = batched_ ? p_.out.sizes[0] : 1;
    const int64_t each = m_ * k_ + k_ * n_ + m_ * n_;
    const int64_t together = each < kSmallProduct ? std::max<int64_t>(1, kBatchElements / each) : 1;
    for (batch_ = 0; batch_ < batches; batch_ += together) {
      batch_size_ = std::min(together, batches - batch_);
      kept_ = Tensor();
      if (together > 1) block_of(0, m_, 0, n_, k_);
      else blocks();
    }
  }

 private:
  void blocks() {
    auto fitting = [](int64_t other, int64_t all) {
      return std::min(all, std::clamp(kBlockElements / other, kLargestBlock / 4, kLargestBlock));
    };
    const int64_t inner = std::min(k_, kLargestBlock), columns = fitting(inner, n_), rows = fitting(std::max(inner, columns), m_);
    for (int64_t i = 0; i < m_; i += rows) {
      kept_ = Tensor();
      for (int64_t j = 0; j < n_; j += columns) block_of(i, std::min(rows, m_ - i), j, std::min(columns, n_ - j), inner);
    }
  }

  Dimensions at(int64_t row, int64_t column) const { return batched_ ? Dimensions{batch_, row, column} : Dimensions{row, column}; }
  Dimensions of(int64_t rows, int64_t columns) const {
    return batched_ ? Dimensions{batch_size_, rows, columns} : Dimensions{rows, columns};
  }

  void block_of(int64_t i, int64_t rows, int64_t j, int64_t columns, int64_t inner) {
    const Dimensions sizes = of(rows, columns);
    Tensor sum = torch_.empty(sizes, Torch::packed(sizes, p_.out.strides), DType::kFloat32);
    bool adds = p_.start != nullptr;
    if (adds) torch_.copy(sum.get(), torch_.part(*p_.start, at(i, j), sizes).get());
    double beta = p_.beta;
    for (int64_t k = 0; k < k_; k += inner) {
      const int64_t depth = std::min(inner, k_ - k);
      if (!kept_.get() || inner < k_) kept_ = torch_.widened(p_.a, at(i, k), of(rows, depth));
      const Tensor right = torch_.widened(p_.b, at(k, j), of(depth, columns));
      if (adds) check(f_.add(sum.get(), sum.get(), kept_.get(), right.get(), beta, p_.alpha));
      else check(f_.multiply(sum.get(), kept_.get(), right.get()));
      adds = true;
      beta = 1;
    }
    torch_.copy(torch_.part(p_.out, at(i, j), sizes).get(), sum.get());
  }

  const Torch& torch_;
  const MatrixFunctions& f_;
  const Product& p_;
  const bool batched_;
  int64_t m_ = 0, n_ = 0, k_ = 0, batch_ = 0, batch_size_ = 1;
  Tensor kept_;  // the rows of a, for the next columns of b
};

/// A matrix whose rows lie in memory one by one, times a vector: every element is used once, and widening it would cost more.
bool is_fast_in_narrow(const Product& p) {
  const size_t rank = p.out.sizes.size();
  return (p.out.sizes[rank - 2] == 1 && p.b.strides[rank - 2] == 1) || (p.out.sizes[rank - 1] == 1 && p.a.strides[rank - 1] == 1);
}

TensorHandle tensor_at(CallFrame& frame, size_t position) {
  TensorHandle handle = frame.tensor(std::get<TensorArg>(frame.line().arguments[position]).slot);
  if (!handle) throw Failed{};
  return handle;
}

double number_of(const ExternArg& argument) {
  auto* d = std::get_if<double>(&argument);
  return d ? *d : static_cast<double>(std::get<int64_t>(argument));
}

/// mm, bmm (a, b, out) and addmm, baddbmm (start, a, b, beta, alpha, out). What the typed call took has arguments of these types.
NativeCall matrix_product(const Torch& torch, MatrixFunctions f, bool has_start, NativeCall narrow) {
  return [=](CallFrame& frame) {
    const ExternArgs& arguments = frame.line().arguments;
    const size_t first = has_start;
    Product p{torch.layout(tensor_at(frame, has_start ? 5 : 2)), torch.layout(tensor_at(frame, first)),
              torch.layout(tensor_at(frame, first + 1))};
    const size_t rank = p.out.sizes.size();
    if (count(p.out.sizes) == 0 || p.a.sizes.back() == 0 || is_fast_in_narrow(p)) return narrow(frame);
    Layout start;
    if (has_start) {
      start = torch.layout(tensor_at(frame, 0));
      while (start.sizes.size() < rank) {
        start.sizes.insert(start.sizes.begin(), 1);
        start.strides.insert(start.strides.begin(), 0);
      }
      p.beta = number_of(arguments[3]);
      p.alpha = number_of(arguments[4]);
      p.start = &start;
    }
    Multiplication(torch, f, p).run();
    return 0;
  };
}

/// `sizes` with that of one dimension replaced, and the place where it begins.
Dimensions with(const Dimensions& sizes, size_t dimension, int64_t value) {
  Dimensions part = sizes;
  part[dimension] = value;
  return part;
}
Dimensions at(const Layout& l, size_t dimension, int64_t begin) { return with(Dimensions(l.sizes.size(), 0), dimension, begin); }

/// convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups), some images and some of the
/// channels that it computes at a time.
class ConvolutionCall {
 public:
  ConvolutionCall(const Torch& torch, Convolution f, DType dtype, CallFrame& frame)
      : torch_(torch),
        f_(f),
        dtype_(dtype),
        arguments_(frame.line().arguments),
        stride_(arguments_[3], frame),
        padding_(arguments_[4], frame),
        dilation_(arguments_[5], frame),
        transposed_(std::get<bool>(arguments_[6])),
        output_padding_(arguments_[7], frame),
        groups_(std::get<int64_t>(arguments_[8])),
        input_(torch.layout(tensor_at(frame, 0))),
        weight_(torch.layout(tensor_at(frame, 1))) {
    if (std::holds_alternative<TensorArg>(arguments_[2])) bias_ = torch.layout(tensor_at(frame, 2));
  }

  bool is_empty() const { return count(input_.sizes) == 0 || count(weight_.sizes) == 0; }

  Tensor run() {
    const int64_t channels = weight_.sizes[0];
    const int64_t together = splits_ ? std::clamp<int64_t>(kWeightElements / (count(weight_.sizes) / channels), 1, channels) : channels;
    for (int64_t begin = 0; begin < channels; begin += together) channels_of(begin, std::min(together, channels - begin));
    return std::move(result_);
  }

 private:
  /// `size` channels of the result; where they are not split all of them, which `weight_` may order otherwise.
  void channels_of(int64_t begin, int64_t size) {
    const Tensor weight = torch_.widened(weight_, at(weight_, 0, begin), with(weight_.sizes, 0, size));
    const Tensor bias = !bias_.base ? Tensor() : splits_ ? torch_.widened(bias_, {begin}, {size}) : torch_.widened(bias_);
    TensorHandle bias_handle = bias.get();
    const int64_t images = input_.sizes[0];
    int64_t together = 1;  // until the first says how large its result is
    for (int64_t image = 0, next = 0; image < images; image = next) {
      next = std::min(images, image + together);
      const Tensor wide = torch_.widened(input_, at(input_, 0, image), with(input_.sizes, 0, next - image));
      TensorHandle made = nullptr;
      check(f_(wide.get(), weight.get(), bias_handle ? &bias_handle : nullptr, stride_.values, stride_.size, padding_.values, padding_.size,
               dilation_.values, dilation_.size, transposed_, output_padding_.values, output_padding_.size, groups_, &made));
      const Tensor piece(torch_.api, made);
      const Layout from = torch_.layout(made);
      if (!result_.get()) {  // laid out as its first piece
        Dimensions sizes = with(from.sizes, 0, images);
        if (splits_) sizes[1] = weight_.sizes[0];
        result_ = torch_.empty(sizes, Torch::packed(sizes, from.strides), dtype_);
      }
      Dimensions place = at(from, 0, image);
      if (splits_) place[1] = begin;
      torch_.copy(torch_.part(torch_.layout(result_.get()), place, from.sizes).get(), made);
      if (image == 0) together = std::max<int64_t>(1, kImageElements / (count(input_.sizes) / images + count(from.sizes)));
    }
  }

  const Torch& torch_;
  const Convolution f_;
  const DType dtype_;
  const ExternArgs& arguments_;
  const ShortList stride_, padding_, dilation_;
  const bool transposed_;
  const ShortList output_padding_;
  const int64_t groups_;
  const bool splits_ = !transposed_ && groups_ == 1;  // whether the first dimension of the weight is the channels of the result
  Layout input_, weight_, bias_;
  Tensor result_;
};

NativeCall convolution(const Torch& torch, const TypedFunctions& functions, DType dtype, NativeCall narrow) {
  auto f = functions.find<Convolution>("convolution");
  return [=](CallFrame& frame) {
    ConvolutionCall call(torch, f, dtype, frame);
    if (call.is_empty()) return narrow(frame);
    return frame.set_result(0, call.run().release()) ? 0 : 1;
  };
}

/// The call, where it does not fail; else torch keeps the reason.
NativeCall guarded(NativeCall call) {
  return [call = std::move(call)](CallFrame& frame) {
    try {
      return call(frame);
    } catch (const Failed&) { return 1; }
  };
}

}  // namespace

NativeCall product_in_float32(const TypedFunctions& functions, const Program& program, const ExternLine& line, NativeCall narrow) {
  const Torch torch(functions);
  const std::string& op = program.callees.at(line.callee).op;
  auto matrices = [&](std::string_view multiply, std::string_view add) {
    return MatrixFunctions{functions.find<TwoIntoOut>(multiply), functions.find<ThreeIntoOut>(add)};
  };
  const bool has_start = op == "aten.addmm.out" || op == "aten.baddbmm.out";
  if (op == "aten.mm.out" || op == "aten.addmm.out")
    return guarded(matrix_product(torch, matrices("mm_out", "addmm_out"), has_start, narrow));
  if (op == "aten.bmm.out" || op == "aten.baddbmm.out")
    return guarded(matrix_product(torch, matrices("bmm_out", "baddbmm_out"), has_start, narrow));
  if (op == "aten.convolution") return guarded(convolution(torch, functions, *line.widened_from, narrow));
  return narrow;
}

}  // namespace litz::runtime
