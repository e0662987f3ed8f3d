// The table of typed functions, the same for every device type. An entry belongs here when the function means exactly what the op means for every argument that the
// entry takes; it saves the dispatcher and the boxing of arguments.
#include <array>

#include "litz/runtime/executor.h"
#include "litz/runtime/extern_call.h"

namespace litz::runtime {
namespace {

using Handle = TensorHandle;

/// The tensors at the given argument positions, or false after a failure.
template <size_t N>
bool tensors(CallFrame& frame, const std::array<int, N>& positions, std::array<Handle, N>& handles) {
  for (size_t i = 0; i < N; i++) {
    handles[i] = frame.tensor(std::get<TensorArg>(frame.line().arguments[positions[i]]).slot);
    if (!handles[i]) return false;
  }
  return true;
}

bool is_tensor(const ExternLine& line, size_t position) {
  return position < line.arguments.size() && std::holds_alternative<TensorArg>(line.arguments[position]);
}

/// A number that the function takes as a double. An integer crosses only where that cannot change the meaning: eager refuses float
/// factors for integer tensors.
bool double_of(const ExternArg& argument, bool integers_allowed, double* value) {
  if (auto* d = std::get_if<double>(&argument)) return *value = *d, true;
  auto* i = std::get_if<int64_t>(&argument);
  if (!i || !integers_allowed || *i > (int64_t{1} << 53) || *i < -(int64_t{1} << 53)) return false;
  return *value = static_cast<double>(*i), true;
}

/// The element type of what a line defines; nullptr if it is not known.
const TensorSpec* spec_of(const Program& program, Slot slot) {
  for (const Line& line : program.lines) {
    if (auto* a = std::get_if<AllocLine>(&line); a && a->slot == slot) return &program.specs[a->spec];
    if (auto* v = std::get_if<ArenaViewLine>(&line); v && v->slot == slot) return &program.specs[v->spec];
    if (auto* v = std::get_if<ViewLine>(&line); v && v->slot == slot) return &program.specs[v->spec];
  }
  return nullptr;
}

/// op.out(a, b, *, out)
NativeCall two_into_out(const TypedFunctions& functions, const ExternLine& line, std::string_view name) {
  auto f = functions.find<TwoIntoOut>(name);
  if (!f || !is_tensor(line, 0) || !is_tensor(line, 1) || !is_tensor(line, 2)) return {};
  return [f](CallFrame& frame) {
    std::array<Handle, 3> t;
    return !tensors<3>(frame, {2, 0, 1}, t) || f(t[0], t[1], t[2]);
  };
}

/// op.out(self, a, b, *, beta, alpha, out)
NativeCall three_into_out(const TypedFunctions& functions, const Program& program, const ExternLine& line, std::string_view name) {
  auto f = functions.find<ThreeIntoOut>(name);
  if (!f || line.arguments.size() != 6 || !is_tensor(line, 0) || !is_tensor(line, 1) || !is_tensor(line, 2) || !is_tensor(line, 5))
    return {};
  const TensorSpec* out = spec_of(program, std::get<TensorArg>(line.arguments[5]).slot);
  const bool is_float = out && is_floating(out->dtype);
  double beta, alpha;
  if (!double_of(line.arguments[3], is_float, &beta) || !double_of(line.arguments[4], is_float, &alpha)) return {};
  return [f, beta, alpha](CallFrame& frame) {
    std::array<Handle, 4> t;
    return !tensors<4>(frame, {5, 0, 1, 2}, t) || f(t[0], t[1], t[2], t[3], beta, alpha);
  };
}

/// convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups)
NativeCall convolution(const TypedFunctions& functions, const ExternLine& line) {
  auto f = functions.find<Convolution>("convolution");
  const auto& a = line.arguments;
  if (!f || a.size() != 9 || !is_tensor(line, 0) || !is_tensor(line, 1)) return {};
  for (int list : {3, 4, 5, 7})
    if (!ShortList::fits(a[list])) return {};
  auto* transposed = std::get_if<bool>(&a[6]);
  auto* groups = std::get_if<int64_t>(&a[8]);
  if (!transposed || !groups || !(is_tensor(line, 2) || std::holds_alternative<std::monostate>(a[2]))) return {};
  return [f, transposed = *transposed, groups = *groups, has_bias = is_tensor(line, 2)](CallFrame& frame) {
    const auto& a = frame.line().arguments;
    std::array<Handle, 2> t;
    if (!tensors<2>(frame, {0, 1}, t)) return 1;
    Handle bias = has_bias ? frame.tensor(std::get<TensorArg>(a[2]).slot) : nullptr;
    if (has_bias && !bias) return 1;
    const ShortList stride(a[3], frame), padding(a[4], frame), dilation(a[5], frame), output_padding(a[7], frame);
    Handle result = nullptr;
    if (f(t[0], t[1], has_bias ? &bias : nullptr, stride.values, stride.size, padding.values, padding.size, dilation.values, dilation.size,
          transposed, output_padding.values, output_padding.size, groups, &result))
      return 1;
    return frame.set_result(0, result) ? 0 : 1;
  };
}

/// _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, *, attn_mask?, scale?) -> (output, logsumexp)
NativeCall attention(const TypedFunctions& functions, const ExternLine& line) {
  auto f = functions.find<int (*)(Handle, Handle, Handle, double, int32_t, Handle*, double*, Handle*, Handle*)>(
      "_scaled_dot_product_flash_attention_for_cpu");
  const auto& a = line.arguments;
  if (!f || a.size() != 7 || !is_tensor(line, 0) || !is_tensor(line, 1) || !is_tensor(line, 2)) return {};
  double dropout, scale = 0;
  auto* causal = std::get_if<bool>(&a[4]);
  const bool has_mask = is_tensor(line, 5), has_scale = !std::holds_alternative<std::monostate>(a[6]);
  if (!double_of(a[3], true, &dropout) || !causal || (has_scale && !double_of(a[6], true, &scale))) return {};
  if (!has_mask && !std::holds_alternative<std::monostate>(a[5])) return {};
  return [f, dropout, causal = *causal, has_mask, has_scale, scale](CallFrame& frame) {
    std::array<Handle, 3> t;
    if (!tensors<3>(frame, {0, 1, 2}, t)) return 1;
    Handle mask = has_mask ? frame.tensor(std::get<TensorArg>(frame.line().arguments[5]).slot) : nullptr;
    if (has_mask && !mask) return 1;
    double factor = scale;
    Handle output = nullptr, logsumexp = nullptr;
    if (f(t[0], t[1], t[2], dropout, causal, has_mask ? &mask : nullptr, has_scale ? &factor : nullptr, &output, &logsumexp)) return 1;
    return frame.set_result(0, output) && frame.set_result(1, logsumexp) ? 0 : 1;
  };
}

NativeCall typed(const TypedFunctions& functions, const Program& program, const ExternLine& line) {
  const std::string& op = program.callees.at(line.callee).op;
  if (op == "aten.mm.out") return two_into_out(functions, line, "mm_out");
  if (op == "aten.bmm.out") return two_into_out(functions, line, "bmm_out");
  if (op == "aten.addmm.out") return three_into_out(functions, program, line, "addmm_out");
  if (op == "aten.baddbmm.out") return three_into_out(functions, program, line, "baddbmm_out");
  if (op == "aten.convolution") return convolution(functions, line);
  if (op == "aten._scaled_dot_product_flash_attention_for_cpu") return attention(functions, line);
  return {};
}

}  // namespace

NativeCall typed_call(const TorchApi& api, const Program& program, const ExternLine& line) {
  // A function belongs to one device type; a program on several says so by more device types.
  if (program.device_types.size() > 1) return {};
  const TypedFunctions functions{api, program.device_types.empty() ? "cpu" : program.device_types[0]};
  NativeCall call = typed(functions, program, line);
  return call && line.widened_from ? product_in_float32(functions, program, line, std::move(call)) : call;
}

}  // namespace litz::runtime
