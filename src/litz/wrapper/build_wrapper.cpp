#include "litz/wrapper/build_wrapper.h"

#include <algorithm>
#include <functional>

namespace litz {
namespace {

class Builder {
 public:
  Builder(const Schedule& schedule, const std::vector<ScheduledKernel>& kernels, const Target& target,
          const std::unordered_map<std::string, HostTensor>& data)
      : schedule_(schedule),
        kernels_(kernels),
        target_(target),
        data_(data),
        loops_(*schedule.program),
        out_(std::make_unique<WrapperProgram>()) {
    out_->name = loops_.name;
    out_->context = loops_.context;
  }

  std::unique_ptr<WrapperProgram> run() {
    declare_inputs();
    for (size_t g = 0; g < schedule_.groups.size(); ++g) {
      const FusedGroup& group = *schedule_.groups[g];
      if (group.kind == GroupKind::kExtern) call_extern(*group.members[0].operation);
      else if (kernels_[g].kernel) call_kernel(kernels_[g]);
    }
    copy_back();
    declare_outputs();
    free_after_last_use();
    return std::move(out_);
  }

 private:
  ExprContext& context() { return *out_->context; }

  TensorId new_tensor(const Buffer& b) {
    out_->tensors.push_back({b.name, b.dtype, b.device, b.sizes, b.layout.strides, b.layout.offset});
    return static_cast<TensorId>(out_->tensors.size()) - 1;
  }

  void declare_inputs() {
    for (const auto& parameter : loops_.parameters) {
      if (auto* number = std::get_if<Expr>(&parameter)) {
        out_->inputs.push_back({-1, *number});
        continue;
      }
      const Buffer* b = std::get<Buffer*>(parameter);
      position_of_[b] = static_cast<int>(out_->inputs.size());
      tensor_of_[b] = new_tensor(*b);
      out_->inputs.push_back({tensor_of_[b], {}});
    }
    for (const auto& b : loops_.buffers())
      if (b->kind == BufferKind::kConstant) declare_constant(*b);
  }

  void declare_constant(const Buffer& b) {
    const TensorId id = tensor_of_[&b] = new_tensor(b);
    const std::string& name = b.source ? b.source->name : b.name;
    if (auto data = data_.find(name); data != data_.end()) {
      out_->lines.push_back(DataLine{id, static_cast<int32_t>(out_->data.size())});
      out_->data.push_back(data->second);
      return;
    }
    out_->constants.push_back(name);
    out_->constant_tensors.push_back(id);
  }

  /// The tensor that holds a buffer; allocated or made as a view the first time.
  TensorId tensor(const Buffer* buffer) {
    const Buffer* b = schedule_.shared_storage(buffer);
    if (b != buffer && (b->sizes != buffer->sizes || b->layout.strides != buffer->layout.strides)) return reshaped(*buffer, tensor(b));
    if (auto it = tensor_of_.find(b); it != tensor_of_.end()) return it->second;
    const TensorId id = new_tensor(*b);
    out_->lines.push_back(AllocateLine{id, b->escapes});
    return tensor_of_[b] = id;
  }

  /// A buffer that lives in the storage of one of another shape.
  TensorId reshaped(const Buffer& buffer, TensorId base) {
    auto [it, fresh] = tensor_of_.try_emplace(&buffer, -1);
    if (fresh) {
      it->second = new_tensor(buffer);
      out_->lines.push_back(ReinterpretLine{it->second, base});
    }
    return it->second;
  }

  /// A strided view of a buffer as a tensor of its own (the buffer's tensor if it is the whole of it).
  TensorId view(const ExternTensor& t) {
    const TensorId base = tensor(t.buffer);
    const WrapperTensor whole = out_->tensors[base];
    Expr offset = whole.offset ? whole.offset : context().integer(0);
    for (size_t d = 0; d < t.coordinates.size(); ++d) offset = offset + t.coordinates[d] * whole.strides[d];
    auto form = linear_form(offset, t.axes);
    LITZ_CHECK(form, "view of {} at offset {} is not strided", t.buffer->name, to_string(offset));
    WrapperTensor v{whole.name, t.dtype, whole.device, t.sizes, form->coefficients, form->rest};
    for (size_t d = 0; d < v.sizes.size(); ++d)
      if (!t.required_strides.empty() && (v.sizes[d].is_integer(1) || v.sizes[d].is_integer(0)))
        v.strides[d] = t.required_strides[d];  // where any stride is right, the one that eager shows
    for (size_t d = 0; d < v.sizes.size() && v.sizes == whole.sizes && t.required_strides.empty(); ++d)
      if (v.sizes[d].is_integer(1)) v.strides[d] = whole.strides[d];  // an axis of one element has no stride of its own
    const Expr start = whole.offset ? whole.offset : context().integer(0);
    if (v.sizes == whole.sizes && v.strides == whole.strides && form->rest == start && v.dtype == whole.dtype) return base;
    for (const auto& [known, id] : views_)
      if (known == base && out_->tensors[id].sizes == v.sizes && out_->tensors[id].strides == v.strides &&
          out_->tensors[id].offset == v.offset)
        return id;
    v.name = fmt::format("{}_view{}", whole.name, views_.size());
    out_->tensors.push_back(std::move(v));
    const TensorId id = static_cast<TensorId>(out_->tensors.size()) - 1;
    out_->lines.push_back(ReinterpretLine{id, base});
    views_.emplace_back(base, id);
    return id;
  }

  void call_kernel(const ScheduledKernel& scheduled) {
    const Kernel& kernel = *scheduled.kernel;
    KernelCallLine line;
    line.kernel = static_cast<int32_t>(out_->kernels.size());
    WrapperKernel definition{kernel.name, scheduled.source, {}, kernel.assertions, kernel.reports_errors};
    for (const KernelParameter& p : kernel.parameters) {
      if (p.kind == KernelParameter::kNumber) line.numbers.push_back(p.number);
      else line.tensors.push_back(tensor(p.buffer));
    }
    line.range = kernel.range;
    line.grain = kernel.grain;
    line.scratch_bytes = scratch_bytes(kernel);
    out_->kernels.push_back(std::move(definition));
    out_->lines.push_back(std::move(line));
  }

  WrapperArgument argument(const ExternArgument& a) {
    if (auto* t = std::get_if<ExternTensor>(&a)) return TensorRef{view(*t)};
    if (auto* list = std::get_if<ExternArgumentList>(&a)) {
      WrapperArgumentList out;
      for (const auto& e : *list) out.push_back(argument(e));
      return out;
    }
    return std::visit(
        [](const auto& v) -> WrapperArgument {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, ExternTensor> || std::is_same_v<T, ExternArgumentList>) return None{};
          else return v;
        },
        static_cast<const ExternArgument::variant&>(a));
  }

  /// "aten::mm(Tensor self, Tensor mat2) -> Tensor" has the variant that writes its last argument.
  const OpSchema* out_variant(const OpSchema& functional) {
    for (const auto& known : out_->schemas)
      if (known->name == functional.name + ".out") return known.get();
    const std::string& text = functional.text;
    const size_t open = text.find('('), close = text.rfind(')', text.rfind("->"));
    const bool has_keywords = text.find("*,") != std::string::npos;
    out_->schemas.push_back(parse_schema(fmt::format("{}.out{}{}Tensor(a!) out) -> Tensor(a!)", text.substr(0, open),
                                                     text.substr(open, close - open), has_keywords ? ", " : ", *, ")));
    return out_->schemas.back().get();
  }

  /// The products that a call can compute in another type than its own.
  static bool is_product(std::string_view op) {
    constexpr std::string_view kProducts[] = {"aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm", "aten.convolution"};
    return std::ranges::find(kProducts, op) != std::end(kProducts);
  }

  void call_extern(const Operation& op) {
    ExternCallLine line;
    if (is_product(op.callee->name)) {
      const DType dtype = op.outputs[0]->dtype;
      line.in_float32 = dtype != DType::kFloat32 && target_.product_type(dtype) == DType::kFloat32;
    }
    line.callee = op.callee;
    for (const auto& a : op.arguments) line.arguments.push_back(argument(a));
    if (op.writes_planned_output) {
      LITZ_CHECK(op.outputs.size() == 1, "{} has {} planned outputs", op.name, op.outputs.size());
      line.callee = out_variant(*op.callee);
      line.arguments.push_back(TensorRef{tensor(op.outputs[0])});
      line.results.push_back(-1);
    } else {
      for (const Buffer* b : op.outputs) {
        if (b->version_of) {
          line.results.push_back(-1);  // what it wrote is known already
          continue;
        }
        line.results.push_back(tensor_of_[b] = new_tensor(*b));
      }
    }
    line.number_results = op.symbol_outputs;
    out_->lines.push_back(std::move(line));
  }

  void copy_back() {
    for (const auto& m : loops_.mutations) {
      const TensorId source = tensor(m.last_version), destination = tensor(m.input);
      if (source != destination) out_->lines.push_back(CopyLine{destination, source});
    }
  }

  static bool is_whole(const ExternTensor& t) {
    return t.coordinates == t.axes && t.sizes == t.buffer->sizes && t.dtype == t.buffer->dtype;
  }

  void declare_outputs() {
    for (const auto& output : loops_.outputs) {
      WrapperOutput w;
      std::visit(
          [&](const auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, ExternTensor>) {
              const Buffer* b = schedule_.shared_storage(v.buffer);
              for (const auto& m : loops_.mutations)  // what was copied back is returned as the input that holds it
                if (m.last_version == v.buffer && is_whole(v)) b = m.input;
              auto input = position_of_.find(b);
              if (input != position_of_.end() && is_whole(v)) w.value = WrapperOutput::Input{input->second};
              else w.value = TensorRef{view(v)};
            } else {
              w.value = v;
            }
          },
          output.value);
      out_->outputs.push_back(std::move(w));
    }
  }

  void free_after_last_use() {
    std::vector<int> base(out_->tensors.size(), -1);
    std::vector<size_t> last(out_->tensors.size(), 0);
    std::vector<bool> is_owned(out_->tensors.size(), false);
    const size_t count = out_->lines.size();
    std::function<void(const WrapperArgument&, size_t)> use = [&](const WrapperArgument& a, size_t at) {
      if (auto* t = std::get_if<TensorRef>(&a)) last[t->id] = at;
      if (auto* list = std::get_if<WrapperArgumentList>(&a))
        for (const auto& e : *list) use(e, at);
    };
    for (size_t k = 0; k < count; ++k) {
      const WrapperLine& line = out_->lines[k];
      if (auto* a = std::get_if<AllocateLine>(&line)) is_owned[a->tensor] = true, last[a->tensor] = k;
      if (auto* r = std::get_if<ReinterpretLine>(&line)) base[r->tensor] = r->base, is_owned[r->tensor] = true, last[r->tensor] = k;
      if (auto* c = std::get_if<KernelCallLine>(&line))
        for (TensorId t : c->tensors) last[t] = k;
      if (auto* n = std::get_if<ReadNumberLine>(&line)) last[n->tensor] = k;
      if (auto* c = std::get_if<CopyLine>(&line)) last[c->destination] = last[c->source] = k;
      if (auto* e = std::get_if<ExternCallLine>(&line)) {
        for (const auto& a : e->arguments) use(a, k);
        const auto* looked_at = e->callee->is_view ? std::get_if<TensorRef>(&e->arguments[0]) : nullptr;
        for (TensorId t : e->results)
          if (t >= 0) is_owned[t] = true, last[t] = k, base[t] = looked_at ? looked_at->id : -1;
      }
    }
    for (const auto& o : out_->outputs)
      if (auto* t = std::get_if<TensorRef>(&o.value)) last[t->id] = count;
    // A view holds its base: the base lives at least as long.
    for (size_t t = out_->tensors.size(); t-- > 0;)
      if (base[t] >= 0) last[base[t]] = std::max(last[base[t]], last[t]);
    std::vector<std::vector<TensorId>> ending(count);
    for (size_t t = 0; t < out_->tensors.size(); ++t)
      if (is_owned[t] && last[t] < count) ending[last[t]].push_back(static_cast<TensorId>(t));
    std::vector<WrapperLine> lines;
    for (size_t k = 0; k < count; ++k) {
      lines.push_back(std::move(out_->lines[k]));
      for (TensorId t : ending[k]) lines.push_back(FreeLine{t});
    }
    out_->lines = std::move(lines);
  }

  const Schedule& schedule_;
  const std::vector<ScheduledKernel>& kernels_;
  const Target& target_;
  const std::unordered_map<std::string, HostTensor>& data_;
  const LoopProgram& loops_;
  std::unique_ptr<WrapperProgram> out_;
  std::unordered_map<const Buffer*, TensorId> tensor_of_;
  std::unordered_map<const Buffer*, int> position_of_;
  std::vector<std::pair<TensorId, TensorId>> views_;  // base, view
};

}  // namespace

std::unique_ptr<WrapperProgram> build_wrapper(const Schedule& schedule, const std::vector<ScheduledKernel>& kernels, const Target& target,
                                              const std::unordered_map<std::string, HostTensor>& data) {
  return Builder(schedule, kernels, target, data).run();
}

}  // namespace litz
