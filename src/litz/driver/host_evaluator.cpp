#include "litz/driver/host_evaluator.h"

#include <algorithm>

namespace litz {
namespace {

constexpr int64_t kSmall = 1 << 20;  // elements that a result may always have

/// -1 where it is not a number.
int64_t element_count(const TensorMeta& meta) {
  int64_t count = 1;
  for (Expr size : meta.sizes) {
    if (!size.is_integer()) return -1;
    count *= size.integer();
  }
  return count;
}

}  // namespace

std::optional<int64_t> HostEvaluator::find(Value value) const {
  if (value.node->kind == NodeKind::kConstant) {
    auto it = constants_.find(value.node->name);
    return it == constants_.end() ? std::nullopt : std::optional(it->second);
  }
  auto it = values_.find(value);
  return it == values_.end() ? std::nullopt : std::optional(it->second);
}

bool HostEvaluator::flatten(const Argument& argument, std::vector<litz_argument>& out) const {
  litz_argument a{};
  if (auto* b = std::get_if<bool>(&argument)) a = {LITZ_ARG_BOOL, *b};
  else if (auto* i = std::get_if<int64_t>(&argument)) a = {LITZ_ARG_INT, *i};
  else if (auto* d = std::get_if<double>(&argument)) a = {LITZ_ARG_FLOAT, 0, *d};
  else if (auto* c = std::get_if<std::complex<double>>(&argument)) a = {LITZ_ARG_COMPLEX, 0, c->real(), c->imag()};
  else if (auto* s = std::get_if<std::string>(&argument)) a = {LITZ_ARG_STRING, 0, 0, 0, s->c_str()};
  else if (auto* t = std::get_if<DType>(&argument)) a = {LITZ_ARG_DTYPE, dtype_torch_code(*t)};
  else if (auto* d = std::get_if<Device>(&argument)) a = {LITZ_ARG_DEVICE, d->index, 0, 0, d->type.c_str()};
  else if (auto* m = std::get_if<MemoryFormat>(&argument)) a = {LITZ_ARG_MEMORY_FORMAT, static_cast<int64_t>(*m)};
  else if (auto* v = std::get_if<Value>(&argument)) {
    const auto number = find(*v);
    if (!number) return false;
    a = {LITZ_ARG_VALUE, *number};
  } else if (auto* list = std::get_if<ArgumentList>(&argument)) {
    out.push_back({LITZ_ARG_LIST, static_cast<int64_t>(list->size())});
    return std::all_of(list->begin(), list->end(), [&](const Argument& element) { return flatten(element, out); });
  } else if (std::holds_alternative<Expr>(argument)) {
    return false;
  }
  out.push_back(a);
  return true;
}

bool HostEvaluator::evaluate(const Node& call) {
  // What many small constants make of each other may be large (a mask over all pairs): kernels make that anew as cheaply.
  int64_t most = kSmall;
  bool has_tensor = false;
  for (const Argument& a : call.arguments)
    for_each_value(a, [&](const Value& v) {
      has_tensor = true;
      most = std::max(most, 2 * element_count(v.meta()));
    });
  if (!has_tensor) most = kSmall;
  std::vector<litz_argument> arguments;
  for (const Argument& a : call.arguments)
    if (!flatten(a, arguments)) return false;
  std::vector<std::vector<int64_t>> numbers;
  std::vector<litz_constant_result> results;
  numbers.reserve(2 * call.outputs.size());
  for (const TensorMeta& meta : call.outputs) {
    const int64_t count = meta.is_none ? -1 : element_count(meta);
    if (count < 0 || count > most) return false;
    for (const auto* exprs : {&meta.sizes, &meta.strides}) {
      numbers.emplace_back();
      for (Expr e : *exprs) {
        if (!e.is_integer()) return false;
        numbers.back().push_back(e.integer());
      }
    }
    results.push_back(
        {dtype_torch_code(meta.dtype), static_cast<int32_t>(meta.rank()), numbers[numbers.size() - 2].data(), numbers.back().data(), -1});
  }
  if (host_.evaluate(host_.context, call.op->name.c_str(), call.op->text.c_str(), arguments.data(), arguments.size(), results.data(),
                     results.size()))
    return false;
  for (size_t i = 0; i < results.size(); ++i) values_[Value{const_cast<Node*>(&call), static_cast<int>(i)}] = results[i].constant;
  return true;
}

bool HostEvaluator::store(Value value, const std::string& constant) {
  const auto number = find(value);
  if (number) constants_[constant] = *number;
  return number.has_value();
}

}  // namespace litz
