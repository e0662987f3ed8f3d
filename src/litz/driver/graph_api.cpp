// Building and reading graphs through the C API.
#include <cstdlib>

#include "litz/driver/api_guard.h"
#include "litz/driver/graph_handle.h"

namespace litz {

std::string& api_error() {
  thread_local std::string text;
  return text;
}

namespace {

Expr size_of(const GraphImport& builder, const litz_size& size) {
  return size.expr >= 0 ? builder.expr(size.expr) : const_cast<GraphImport&>(builder).graph().context->integer(size.value);
}

TensorMeta meta_of(const GraphImport& builder, const litz_tensor_meta& from) {
  TensorMeta meta;
  if (from.dtype < 0) {
    meta.is_none = true;
    return meta;
  }
  const auto dtype = dtype_from_torch_code(from.dtype);
  if (!dtype) user_error("element type {} of PyTorch is not known", from.dtype);
  meta.dtype = *dtype;
  for (int32_t d = 0; d < from.rank; d++) {
    meta.sizes.push_back(size_of(builder, from.sizes[d]));
    meta.strides.push_back(size_of(builder, from.strides[d]));
  }
  if (from.storage_offset.expr >= 0 || from.storage_offset.value) meta.storage_offset = size_of(builder, from.storage_offset);
  meta.device = {from.device_type ? from.device_type : "cpu", from.device_index};
  return meta;
}

void keep_data(litz_graph& graph, int32_t value, const void* data) {
  const Value constant = graph.builder.value(value);
  HostTensor tensor;
  tensor.dtype = constant.meta().dtype;
  for (size_t d = 0; d < constant.meta().rank(); ++d) {
    const auto size = constant.meta().sizes[d].as_integer(), stride = constant.meta().strides[d].as_integer();
    if (!size || !stride) return;
    tensor.sizes.push_back(*size);
    tensor.strides.push_back(*stride);
  }
  tensor.data = static_cast<std::byte*>(const_cast<void*>(data));
  graph.constants[constant.node->name] = std::move(tensor);
}

MemoryFormat memory_format_of(int64_t code) {
  switch (code) {
    case 0: return MemoryFormat::kContiguous;
    case 1: return MemoryFormat::kPreserve;
    case 2: return MemoryFormat::kChannelsLast;
    case 3: return MemoryFormat::kChannelsLast3d;
    default: user_error("memory format {} of PyTorch is not known", code);
  }
}

/// Reads one argument and what belongs to it; moves `next` behind it.
Argument argument_of(const GraphImport& builder, const litz_argument* arguments, size_t count, size_t& next) {
  if (next >= count) user_error("the arguments end inside a list");
  const litz_argument& a = arguments[next++];
  switch (a.kind) {
    case LITZ_ARG_NONE: return None{};
    case LITZ_ARG_BOOL: return a.integer != 0;
    case LITZ_ARG_INT: return a.integer;
    case LITZ_ARG_FLOAT: return a.real;
    case LITZ_ARG_COMPLEX: return std::complex<double>(a.real, a.imaginary);
    case LITZ_ARG_STRING: return std::string(a.text);
    case LITZ_ARG_DTYPE: {
      const auto dtype = dtype_from_torch_code(static_cast<int>(a.integer));
      if (!dtype) user_error("element type {} of PyTorch is not known", a.integer);
      return *dtype;
    }
    case LITZ_ARG_DEVICE: return Device{a.text, static_cast<int>(a.integer)};
    case LITZ_ARG_MEMORY_FORMAT: return memory_format_of(a.integer);
    case LITZ_ARG_FLOAT_EXPR:
    case LITZ_ARG_EXPR: return builder.expr(a.integer);
    case LITZ_ARG_VALUE: return builder.value(a.integer);
    case LITZ_ARG_LIST: {
      ArgumentList list;
      for (int64_t i = 0; i < a.integer; i++) list.push_back(argument_of(builder, arguments, count, next));
      return list;
    }
  }
  user_error("argument kind {} is not known", static_cast<int>(a.kind));
}

}  // namespace
}  // namespace litz

using litz::guarded;

extern "C" {

const char* litz_error_message(void) { return litz::api_error().c_str(); }
void litz_free_text(char* text) { std::free(text); }

int litz_graph_create(const char* name, litz_graph** graph) {
  return guarded([&] { return *graph = new litz_graph{litz::GraphImport(name)}, LITZ_OK; });
}

void litz_graph_destroy(litz_graph* graph) { delete graph; }

int litz_graph_parse(const char* text, size_t length, litz_graph** graph) {
  return guarded([&] { return *graph = new litz_graph{litz::GraphImport(litz::parse_graph({text, length}))}, LITZ_OK; });
}

int litz_graph_text(const litz_graph* graph, char** text) {
  return guarded([&] { return litz::give_text(litz::to_text(graph->builder.graph()), text); });
}

int litz_graph_verify(const litz_graph* graph) {
  return guarded([&] { return litz::verify(graph->builder.graph()), LITZ_OK; });
}

int litz_graph_integer(litz_graph* graph, int64_t value, int32_t* expr) {
  return guarded([&] { return *expr = graph->builder.integer(value), LITZ_OK; });
}

int litz_graph_symbol(litz_graph* graph, const char* name, int is_unbacked, int64_t lower, int64_t upper, const int64_t* hint,
                      int32_t* expr) {
  return guarded([&] {
    const auto kind = is_unbacked ? litz::SymbolKind::kUnbacked : litz::SymbolKind::kSize;
    *expr = graph->builder.symbol(name, kind, {lower, upper}, hint ? std::optional<int64_t>(*hint) : std::nullopt);
    return LITZ_OK;
  });
}

int litz_graph_float_symbol(litz_graph* graph, const char* name, int is_unbacked, int32_t* expr) {
  const auto kind = is_unbacked ? litz::SymbolKind::kUnbacked : litz::SymbolKind::kSize;
  return guarded([&] { return *expr = graph->builder.float_symbol(name, kind), LITZ_OK; });
}

int litz_graph_computed(litz_graph* graph, const char* name, const char* definition, int64_t lower, int64_t upper, int32_t* expr) {
  return guarded([&] { return *expr = graph->builder.computed(name, definition, {lower, upper}), LITZ_OK; });
}

int litz_graph_expr(litz_graph* graph, const char* op, const int32_t* operands, size_t count, int32_t* expr) {
  return guarded([&] { return *expr = graph->builder.expression(op, {operands, count}), LITZ_OK; });
}

int litz_graph_input(litz_graph* graph, const char* name, const litz_tensor_meta* meta, int32_t* value) {
  return guarded([&] { return *value = graph->builder.input(name, litz::meta_of(graph->builder, *meta)), LITZ_OK; });
}

int litz_graph_size_input(litz_graph* graph, const char* name, int32_t expr) {
  return guarded([&] { return graph->builder.size_input(name, expr), LITZ_OK; });
}

int litz_graph_constant(litz_graph* graph, const char* name, const litz_tensor_meta* meta, const void* data, int32_t* value) {
  return guarded([&] {
    *value = graph->builder.constant(name, litz::meta_of(graph->builder, *meta));
    if (data) litz::keep_data(*graph, *value, data);
    return LITZ_OK;
  });
}

int litz_graph_schema(litz_graph* graph, const char* text, int32_t* schema) {
  return guarded([&] { return *schema = graph->builder.schema(text), LITZ_OK; });
}

int litz_graph_call(litz_graph* graph, const char* name, int32_t schema, const litz_argument* arguments, size_t argument_count,
                    const litz_tensor_meta* results, size_t result_count, const int32_t* symbols, size_t symbol_count, const char* file,
                    int line, const char* source, int32_t* first_value) {
  return guarded([&] {
    litz::GraphImport& builder = graph->builder;
    std::vector<litz::Argument> made;
    for (size_t next = 0; next < argument_count;) made.push_back(litz::argument_of(builder, arguments, argument_count, next));
    std::vector<litz::TensorMeta> metas;
    for (size_t i = 0; i < result_count; i++) metas.push_back(litz::meta_of(builder, results[i]));
    const litz::SourceLine* from = file ? builder.graph().source(file, line, source ? source : "") : nullptr;
    *first_value = builder.call(name, schema, std::move(made), std::move(metas), {symbols, symbol_count}, from);
    return LITZ_OK;
  });
}

int litz_graph_output(litz_graph* graph, const litz_argument* output, int strides_are_promised) {
  return guarded([&] {
    size_t next = 0;
    graph->builder.output(litz::argument_of(graph->builder, output, 1, next), strides_are_promised != 0);
    return LITZ_OK;
  });
}

int litz_graph_set_inference(litz_graph* graph, int is_inference) {
  return guarded([&] { return graph->builder.graph().is_inference = is_inference != 0, LITZ_OK; });
}

}  // extern "C"
