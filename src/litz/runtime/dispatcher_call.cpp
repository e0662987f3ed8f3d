#include <cstring>

#include "litz/runtime/executor.h"
#include "litz/runtime/extern_call.h"

namespace litz::runtime {
namespace {

/// "Tensor(a!)?" -> "Tensor?", "SymInt[2]" -> "int[]".
std::string plain_type(std::string type) {
  for (size_t open; (open = type.find('(')) != std::string::npos;) type.erase(open, type.find(')', open) - open + 1);
  for (size_t open = 0; (open = type.find('[', open)) != std::string::npos; open++) {
    const size_t close = type.find(']', open);
    type.erase(open + 1, close - open - 1);
  }
  if (type.starts_with("SymInt")) type.replace(0, 6, "int");
  return type;
}

std::vector<std::string> types_between(const std::string& text, bool named) {
  std::vector<std::string> types;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); i++) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c != ',' || depth) continue;
    size_t from = text.find_first_not_of(' ', begin);
    if (from < i && !(named && text[from] == '*')) {
      const size_t space = text.find(' ', from);
      types.push_back(plain_type(text.substr(from, std::min(space, i) - from)));
    }
    begin = i + 1;
  }
  return types;
}

}  // namespace

SchemaTypes schema_types(const std::string& schema) {
  const size_t open = schema.find('(');
  const size_t arrow = schema.rfind("->");
  LITZ_CHECK(open != std::string::npos && arrow != std::string::npos, "not a schema: {}", schema);
  const size_t close = schema.rfind(')', arrow);
  std::string returns = schema.substr(arrow + 2);
  const size_t first = returns.find_first_not_of(' ');
  returns = first == std::string::npos ? "" : returns.substr(first);
  if (returns.starts_with("(") && returns.ends_with(")")) returns = returns.substr(1, returns.size() - 2);
  return {types_between(schema.substr(open + 1, close - open - 1), true), types_between(returns, false)};
}

namespace {

/// One value of the stable interface: 64 bits whose meaning the schema gives. What it owns is taken over by the call.
using StableValue = uint64_t;

struct StableCall {
  const TorchApi& api;
  std::string name, overload;
  std::vector<std::string> arguments, returns;
  const ExternLine* line;
  std::vector<int32_t> device_codes;

  bool takes(const std::string& type, const ExternArg& argument, std::string* reason) const;
  int push(const std::string& type, const ExternArg& argument, CallFrame& frame, StableValue* value) const;
  int boxed(StableValue inner, StableValue* value) const;
  TensorHandle defined(StableValue result) const;
  int call(CallFrame& frame) const;
};

bool is_float(const ExternArg& argument) {
  const auto* number = std::get_if<NumberArg>(&argument);
  return number && number->is_float;
}

bool StableCall::takes(const std::string& type, const ExternArg& argument, std::string* reason) const {
  if (type.ends_with("?"))
    return std::holds_alternative<std::monostate>(argument) || takes(type.substr(0, type.size() - 1), argument, reason);
  if (type.ends_with("[]")) {
    const auto* list = std::get_if<ExternArgs>(&argument);
    if (!list) {
      *reason = "a list argument is not a list";
      return false;
    }
    for (const ExternArg& element : *list)
      if (!takes(type.substr(0, type.size() - 2), element, reason)) return false;
    return true;
  }
  bool fits = false;
  const bool is_number = std::holds_alternative<int64_t>(argument) || std::holds_alternative<NumberArg>(argument);
  if (type == "Tensor") fits = std::holds_alternative<TensorArg>(argument);
  else if (type == "int") fits = is_number && !is_float(argument);
  else if (type == "float") fits = std::holds_alternative<double>(argument) || is_number;
  else if (type == "bool") fits = std::holds_alternative<bool>(argument);
  else if (type == "ScalarType") fits = std::holds_alternative<DType>(argument);
  else if (type == "MemoryFormat") fits = std::holds_alternative<MemoryFormatArg>(argument);
  else if (type == "Device") fits = std::holds_alternative<DeviceId>(argument);
  else if (type == "str") fits = std::holds_alternative<std::string>(argument);
  else if (type == "Layout") fits = std::holds_alternative<std::string>(argument) && std::get<std::string>(argument) == "strided";
  if (!fits) *reason = fmt::format("an argument of type {} does not cross the stable interface", type);
  return fits;
}

int StableCall::boxed(StableValue inner, StableValue* value) const {
  StableValue* box = nullptr;
  if (api.torch_new_stable_ivalue) {
    if (api.torch_new_stable_ivalue(&box)) return 1;
  } else {
    box = new StableValue;
  }
  *box = inner;
  *value = reinterpret_cast<StableValue>(box);
  return 0;
}

int StableCall::push(const std::string& type, const ExternArg& argument, CallFrame& frame, StableValue* value) const {
  *value = 0;
  if (type.back() == '?') {
    if (std::holds_alternative<std::monostate>(argument)) return 0;
    StableValue inner;
    return push(type.substr(0, type.size() - 1), argument, frame, &inner) || boxed(inner, value);
  }
  if (type.back() == ']') {
    const auto& list = std::get<ExternArgs>(argument);
    const std::string element_type = type.substr(0, type.size() - 2);
    void* handle = nullptr;
    if (api.torch_new_list_reserve_size(list.size(), &handle)) return 1;
    for (const ExternArg& element : list) {
      StableValue pushed;
      if (push(element_type, element, frame, &pushed) || api.torch_list_push_back(handle, pushed)) {
        api.torch_delete_list(handle);
        return 1;
      }
    }
    *value = reinterpret_cast<StableValue>(handle);
    return 0;
  }
  if (auto* tensor = std::get_if<TensorArg>(&argument)) {
    void* own = frame.tensor(tensor->slot);
    TensorHandle handle = nullptr;
    if (!own || api.aoti_torch_new_tensor_handle(own, &handle)) return 1;
    *value = reinterpret_cast<StableValue>(handle);
    return 0;
  }
  if (type == "float") {
    double number = 0;
    if (auto* d = std::get_if<double>(&argument)) number = *d;
    else if (auto* i = std::get_if<int64_t>(&argument)) number = static_cast<double>(*i);
    else if (is_float(argument)) number = float_of_word(frame.number(std::get<NumberArg>(argument).entry));
    else number = static_cast<double>(frame.number(std::get<NumberArg>(argument).entry));
    std::memcpy(value, &number, sizeof number);
    return 0;
  }
  if (auto* i = std::get_if<int64_t>(&argument)) *value = static_cast<StableValue>(*i);
  else if (auto* n = std::get_if<NumberArg>(&argument)) *value = static_cast<StableValue>(frame.number(n->entry));
  else if (auto* b = std::get_if<bool>(&argument)) *value = *b;
  else if (auto* d = std::get_if<DType>(&argument)) *value = static_cast<uint32_t>(dtype_torch_code(*d));
  else if (auto* m = std::get_if<MemoryFormatArg>(&argument)) *value = static_cast<uint32_t>(m->torch_code);
  else if (auto* device = std::get_if<DeviceId>(&argument))
    *value = static_cast<StableValue>(static_cast<uint32_t>(device_codes.at(device->type))) << 32 | static_cast<uint32_t>(device->index);
  else if (auto* text = std::get_if<std::string>(&argument); text && type == "str") {
    void* handle = nullptr;
    if (api.torch_new_string_handle(text->data(), text->size(), &handle)) return 1;
    *value = reinterpret_cast<StableValue>(handle);
  }  // a layout: strided is 0
  return 0;
}

/// A result's tensor; null for an undefined one, as gradients that nobody asked for are: torch gives a handle of nothing.
TensorHandle StableCall::defined(StableValue result) const {
  auto* tensor = reinterpret_cast<TensorHandle>(result);
  bool is_defined = true;
  if (!tensor || !api.aoti_torch_is_defined || api.aoti_torch_is_defined(tensor, &is_defined) || is_defined) return tensor;
  api.aoti_torch_delete_tensor_object(tensor);
  return nullptr;
}

int StableCall::call(CallFrame& frame) const {
  constexpr size_t kMost = 40;
  StableValue stack[kMost] = {};
  for (size_t i = 0; i < arguments.size(); i++)
    if (push(arguments[i], line->arguments[i], frame, &stack[i])) return 1;  // what was pushed leaks only after torch ran out of memory
  if (const int code = api.torch_call_dispatcher(name.c_str(), overload.c_str(), stack, TorchApi::kInterfaceVersion)) return code;
  size_t next_tensor = 0, next_number = 0;
  for (size_t i = 0; i < returns.size(); i++) {
    if (returns[i] == "Tensor") {
      if (!frame.set_result(next_tensor++, defined(stack[i]))) return 1;
    } else if (returns[i] == "Tensor[]") {
      void* list = reinterpret_cast<void*>(stack[i]);
      size_t size = 0;
      api.torch_list_size(list, &size);
      for (size_t k = 0; k < size; k++) {
        StableValue element;
        if (api.torch_list_get_item(list, k, &element) || !frame.set_result(next_tensor++, defined(element))) {
          api.torch_delete_list(list);
          return 1;
        }
      }
      api.torch_delete_list(list);
    } else {
      frame.set_number_result(next_number++, static_cast<int64_t>(stack[i]));
    }
  }
  return 0;
}

}  // namespace

NativeCall dispatcher_call(const TorchApi& api, const Program& program, const ExternLine& line, std::string* reason) {
  const Callee& callee = program.callees.at(line.callee);
  if (callee.schema.starts_with("litz_python::")) {  // made at import for a call that the dispatcher does not know
    *reason = "the call lives in Python";
    return {};
  }
  const SchemaTypes types = schema_types(callee.schema);
  if (types.arguments.size() != line.arguments.size()) {
    *reason = fmt::format("{} arguments for the {} of {}", line.arguments.size(), types.arguments.size(), callee.schema);
    return {};
  }
  if (types.arguments.size() > 40 || types.returns.size() > 40) {
    *reason = "more than 40 arguments";
    return {};
  }
  const std::string full = callee.schema.substr(0, callee.schema.find('('));
  const size_t dot = full.find('.');
  auto call = std::make_shared<StableCall>(StableCall{
      api, full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1), types.arguments, types.returns, &line, {}});
  for (const std::string& type : program.device_types) call->device_codes.push_back(api.device_type(type));
  for (size_t i = 0; i < types.arguments.size(); i++)
    if (!call->takes(types.arguments[i], line.arguments[i], reason)) return {};
  for (const std::string& type : types.returns)
    if (type != "Tensor" && type != "Tensor[]" && type != "int") {
      *reason = fmt::format("a result of type {} does not cross the stable interface", type);
      return {};
    }
  return [call](CallFrame& frame) { return call->call(frame); };
}

}  // namespace litz::runtime
