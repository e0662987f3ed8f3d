#include "litz/driver/constant_evaluator.h"

#include <cmath>
#include <cstring>

#include "litz/loop/reference_interpreter.h"
#include "litz/lower/lower_graph.h"

namespace litz {
namespace {

/// -1 where it is not a number.
int64_t element_count(const TensorMeta& meta) {
  int64_t count = 1;
  for (Expr size : meta.sizes) {
    if (!size.is_integer()) return -1;
    count *= size.integer();
    if (count > ReferenceEvaluator::kMostElements) return count;
  }
  return count;
}

bool may_compute(const TensorMeta& meta) {
  const int64_t count = element_count(meta);
  return count > 0 && count <= ReferenceEvaluator::kMostElements && !is_complex(meta.dtype);
}

/// How many elements the interpreter visits: a reduction reads more than it gives.
int64_t work_of(const LoopProgram& program) {
  int64_t work = 0;
  for (const Operation* op : program.operations) {
    int64_t points = 1;
    for (Expr axis : op->axes)
      points = axis.extent().is_integer() ? std::min(points * axis.extent().integer(), ReferenceEvaluator::kMostWork + 1)
                                          : ReferenceEvaluator::kMostWork + 1;
    work += points;
  }
  return work;
}

}  // namespace

const HostTensor* ReferenceEvaluator::find(Value value) const {
  if (value.node->kind == NodeKind::kConstant) {
    auto it = given_.find(value.node->name);
    return it == given_.end() ? nullptr : &it->second;
  }
  auto it = values_.find(value);
  return it == values_.end() ? nullptr : &it->second;
}

bool ReferenceEvaluator::evaluate(const Node& call) {
  if (call.op_name() == "aten.as_strided") return false;  // it looks at strides, which the tensors here have lost
  for (const TensorMeta& meta : call.outputs)
    if (!may_compute(meta)) return false;
  Graph alone(call.name);
  alone.context = graph_.context;
  ReferenceInputs inputs;
  ValueMap map;
  Node* copy = alone.new_node(NodeKind::kCall, call.name);
  copy->op = call.op;
  copy->arguments = call.arguments;
  copy->outputs = call.outputs;
  for (TensorMeta& meta : copy->outputs) meta.strides = contiguous_strides(*graph_.context, meta.sizes);
  for (Argument& argument : copy->arguments)
    for_each_value(argument, [&](Value& v) {
      auto [it, fresh] = map.emplace(v, Value());
      if (fresh) {
        const HostTensor* data = find(v);
        Node* input = alone.new_node(NodeKind::kInput, v.node->name);
        input->outputs = {v.meta()};
        input->outputs[0].strides = contiguous_strides(*graph_.context, v.meta().sizes);
        input->outputs[0].storage_offset = Expr();
        alone.inputs.push_back(input);
        inputs.parameters.emplace_back(data ? *data : HostTensor());
        it->second = input->value();
      }
      v = it->second;
    });
  for (const auto& parameter : inputs.parameters)
    if (!std::get<HostTensor>(parameter).data || is_complex(std::get<HostTensor>(parameter).dtype)) return false;
  alone.nodes = {copy};
  for (int i = 0; i < static_cast<int>(call.outputs.size()); ++i) alone.outputs.push_back({copy->value(i), false});
  try {
    auto program = lower_graph(alone);
    if (!program || !(*program)->fallbacks.empty()) return false;
    work_ += work_of(**program);
    if (work_ > kMostWork) return false;
    ReferenceOutputs made = run_reference(**program, inputs);
    for (int i = 0; i < static_cast<int>(call.outputs.size()); ++i)
      values_[Value{const_cast<Node*>(&call), i}] = std::get<HostTensor>(made.outputs[static_cast<size_t>(i)]);
  } catch (const UserError&) {  // an extern op, or what raises at run time: there it shall
    return false;
  }
  return true;
}

std::optional<Argument> ReferenceEvaluator::uniform(Value value) {
  const HostTensor* data = find(value);
  if (!data) return std::nullopt;
  const auto size = static_cast<size_t>(dtype_bytes(data->dtype));
  const std::byte* first = data->data;
  for (int64_t i = 1; i < data->numel(); ++i)
    if (std::memcmp(first, first + static_cast<size_t>(i) * size, size)) return std::nullopt;
  const Scalar element = read_element(data->dtype, first);
  if (data->dtype == DType::kBool) return Argument(element.integer != 0);
  if (!is_floating(data->dtype)) {
    if (data->dtype == DType::kUInt64 && element.integer < 0) return std::nullopt;
    return Argument(element.integer);
  }
  std::byte again[16];  // a NaN has more bits than a number says
  write_element(scalar_of(data->dtype, element.real), again);
  if (std::memcmp(first, again, size) || (std::isnan(element.real) && std::signbit(element.real))) return std::nullopt;
  return Argument(element.real);
}

bool ReferenceEvaluator::store(Value value, const std::string& constant) {
  const HostTensor* data = find(value);
  if (!can_store_ || !data) return false;
  stored_[constant] = *data;
  return true;
}

}  // namespace litz
