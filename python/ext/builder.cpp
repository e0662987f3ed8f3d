// litz._C.GraphBuilder: graphs by one call a node. Arguments cross as Python holds them: fx nodes stand for what `bind` said.
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "ext.h"

namespace litz_ext {
namespace {

/// A value or an expression of a graph, by number.
struct Index {
  PyObject_HEAD int32_t number;
};
PyTypeObject* value_type = nullptr;
PyTypeObject* expr_type = nullptr;

PyObject* make_index(PyTypeObject* type, int32_t number) {
  auto* made = PyObject_New(Index, type);
  if (made) made->number = number;
  return reinterpret_cast<PyObject*>(made);
}
int32_t number_of(PyObject* object) { return reinterpret_cast<Index*>(object)->number; }

void index_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
PyObject* value_repr(PyObject* self) { return PyUnicode_FromFormat("Value(%d)", number_of(self)); }
PyObject* expr_repr(PyObject* self) { return PyUnicode_FromFormat("Expr(%d)", number_of(self)); }

struct Builder {
  PyObject_HEAD litz_graph* graph;
  PyObject* bound;    // fx node -> Value, Expr or a constant
  PyObject* to_expr;  // SymInt or SymBool -> int or Expr
};

void builder_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Builder*>(object);
  if (self->graph) litz_graph_destroy(self->graph);
  Py_XDECREF(self->bound);
  Py_XDECREF(self->to_expr);
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

litz_graph* graph_of(PyObject* object) {
  litz_graph* graph = reinterpret_cast<Builder*>(object)->graph;
  if (!graph) PyErr_SetString(PyExc_RuntimeError, "the graph was compiled and is gone");
  return graph;
}

const char* text_of(PyObject* object) { return PyUnicode_AsUTF8AndSize(object, nullptr); }

PyObject* builder_new(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* name;
  PyObject* to_expr = Py_None;
  if (!PyArg_ParseTuple(args, "s|O", &name, &to_expr)) return nullptr;
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Ref object(allocate(type, 0));
  if (!object) return nullptr;
  auto* self = reinterpret_cast<Builder*>(object.get());
  self->bound = PyDict_New();
  self->to_expr = Py_NewRef(to_expr);
  if (!self->bound) return nullptr;
  if (const int status = litz_graph_create(name, &self->graph)) return raise_status(status);
  return object.release();
}

/// Flattens Python arguments; texts and numbers that it makes live as long as it.
class Flattener {
 public:
  explicit Flattener(PyObject* builder) : builder_(reinterpret_cast<Builder*>(builder)) {}
  std::vector<litz_argument> out;

  bool add(PyObject* object) {
    litz_argument a{};
    if (object == Py_None) {
      a.kind = LITZ_ARG_NONE;
    } else if (PyBool_Check(object)) {
      a.kind = LITZ_ARG_BOOL;
      a.integer = object == Py_True;
    } else if (PyLong_Check(object)) {
      a.kind = LITZ_ARG_INT;
      a.integer = PyLong_AsLongLong(object);
      if (a.integer == -1 && PyErr_Occurred()) return false;
    } else if (PyFloat_Check(object)) {
      a.kind = LITZ_ARG_FLOAT;
      a.real = PyFloat_AsDouble(object);
    } else if (PyList_Check(object) || PyTuple_Check(object)) {
      return add_list(object);
    } else if (Py_TYPE(object) == torch_objects.node_type || PyType_IsSubtype(Py_TYPE(object), torch_objects.node_type)) {
      PyObject* bound = PyDict_GetItemWithError(builder_->bound, object);
      if (!bound) {
        if (!PyErr_Occurred()) PyErr_Format(unsupported_error, "node %S is used as an argument but has no value", object);
        return false;
      }
      return add(bound);
    } else if (Py_TYPE(object) == value_type || Py_TYPE(object) == expr_type) {
      a.kind = Py_TYPE(object) == value_type ? LITZ_ARG_VALUE : LITZ_ARG_EXPR;
      a.integer = number_of(object);
    } else if (PyUnicode_Check(object)) {
      a.kind = LITZ_ARG_STRING;
      if (!(a.text = text_of(object))) return false;
    } else if (PyComplex_Check(object)) {
      a.kind = LITZ_ARG_COMPLEX;
      a.real = PyComplex_RealAsDouble(object);
      a.imaginary = PyComplex_ImagAsDouble(object);
    } else {
      return add_torch_object(object);
    }
    out.push_back(a);
    return true;
  }

 private:
  bool add_list(PyObject* object) {
    const Py_ssize_t size = PySequence_Size(object);
    litz_argument a{};
    a.kind = LITZ_ARG_LIST;
    a.integer = size;
    out.push_back(a);
    for (Py_ssize_t i = 0; i < size; i++) {
      PyObject* element = PyList_Check(object) ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);
      if (!element || !add(element)) return false;
    }
    return true;
  }

  bool add_torch_object(PyObject* object) {
    litz_argument a{};
    if (Py_TYPE(object) == torch_objects.device_type) {
      kept_.emplace_back(PyObject_GetAttrString(object, "type"));
      Ref index(PyObject_GetAttrString(object, "index"));
      if (!kept_.back() || !index) return false;
      a.kind = LITZ_ARG_DEVICE;
      a.text = text_of(kept_.back().get());
      a.integer = index.get() == Py_None ? 0 : PyLong_AsLongLong(index.get());
      out.push_back(a);
      return true;
    }
    if (PyObject* code = PyDict_GetItemWithError(torch_objects.dtype_codes, object)) {
      a.kind = LITZ_ARG_DTYPE;
      a.integer = PyLong_AsLongLong(code);
    } else if (PyObject* format = PyErr_Occurred() ? nullptr : PyDict_GetItemWithError(torch_objects.memory_format_codes, object)) {
      a.kind = LITZ_ARG_MEMORY_FORMAT;
      a.integer = PyLong_AsLongLong(format);
    } else if (PyObject* layout = PyErr_Occurred() ? nullptr : PyDict_GetItemWithError(torch_objects.layout_names, object)) {
      a.kind = LITZ_ARG_STRING;
      a.text = text_of(layout);
    } else {
      PyErr_Clear();  // an object without a hash
      Ref converted(PyObject_CallFunctionObjArgs(builder_->to_expr, object, nullptr));
      if (!converted) return false;
      if (converted.get() == object) {
        PyErr_Format(unsupported_error, "an argument of type %R", Py_TYPE(object));
        return false;
      }
      return add(converted.get());
    }
    out.push_back(a);
    return true;
  }

  Builder* builder_;
  std::deque<Ref> kept_;
};

/// Tensor metadata given as (dtype number, sizes, strides, storage offset, device type, device index), or None for no tensor.
class Metas {
 public:
  explicit Metas(PyObject* builder) : builder_(reinterpret_cast<Builder*>(builder)) {}
  std::vector<litz_tensor_meta> out;

  bool add(PyObject* meta) {
    litz_tensor_meta m{};
    m.dtype = -1;
    if (meta != Py_None) {
      PyObject *sizes, *strides, *offset;
      int dtype, index;
      const char* device;
      if (!PyArg_ParseTuple(meta, "iOOOsi", &dtype, &sizes, &strides, &offset, &device, &index)) return false;
      m.dtype = dtype;
      m.rank = static_cast<int32_t>(PyTuple_Size(sizes));
      m.device_type = device;
      m.device_index = index;
      if (PyTuple_Size(strides) != m.rank) {
        PyErr_Format(PyExc_ValueError, "%d sizes and %zd strides", m.rank, PyTuple_Size(strides));
        return false;
      }
      if (!add_numbers(sizes, &m.sizes) || !add_numbers(strides, &m.strides) || !read(offset, &m.storage_offset)) return false;
    }
    out.push_back(m);
    return true;
  }

 private:
  bool add_numbers(PyObject* tuple, const litz_size** first) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    numbers_.emplace_back(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; i++)
      if (!read(PyTuple_GetItem(tuple, i), &numbers_.back()[static_cast<size_t>(i)])) return false;
    *first = numbers_.back().data();
    return true;
  }

  bool read(PyObject* object, litz_size* size) {
    size->expr = -1;
    if (PyLong_Check(object)) {
      size->value = PyLong_AsLongLong(object);
      return size->value != -1 || !PyErr_Occurred();
    }
    if (Py_TYPE(object) == expr_type) {
      size->expr = number_of(object);
      return true;
    }
    Ref converted(PyObject_CallFunctionObjArgs(builder_->to_expr, object, nullptr));
    if (!converted) return false;
    if (converted.get() == object) {
      PyErr_Format(PyExc_TypeError, "a size of type %R", Py_TYPE(object));
      return false;
    }
    return read(converted.get(), size);
  }

  Builder* builder_;
  std::deque<std::vector<litz_size>> numbers_;
};

PyObject* builder_integer(PyObject* self, PyObject* value) {
  litz_graph* graph = graph_of(self);
  const long long number = PyLong_AsLongLong(value);
  if (!graph || (number == -1 && PyErr_Occurred())) return nullptr;
  int32_t expr;
  if (const int status = litz_graph_integer(graph, number, &expr)) return raise_status(status);
  return make_index(expr_type, expr);
}

/// symbol(name, unbacked, lower, upper, hint or None); None as a bound means that there is none.
PyObject* builder_symbol(PyObject* self, PyObject* args) {
  const char* name;
  int unbacked;
  PyObject *lower, *upper, *hint;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "spOOO", &name, &unbacked, &lower, &upper, &hint)) return nullptr;
  const int64_t low = lower == Py_None ? -INT64_MAX : PyLong_AsLongLong(lower);
  const int64_t high = upper == Py_None ? INT64_MAX : PyLong_AsLongLong(upper);
  const int64_t seen = hint == Py_None ? 0 : PyLong_AsLongLong(hint);
  if (PyErr_Occurred()) return nullptr;
  int32_t expr;
  if (const int status = litz_graph_symbol(graph, name, unbacked, low, high, hint == Py_None ? nullptr : &seen, &expr))
    return raise_status(status);
  return make_index(expr_type, expr);
}

/// float_symbol(name, unbacked)
PyObject* builder_float_symbol(PyObject* self, PyObject* args) {
  const char* name;
  int unbacked;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "sp", &name, &unbacked)) return nullptr;
  int32_t expr;
  if (const int status = litz_graph_float_symbol(graph, name, unbacked, &expr)) return raise_status(status);
  return make_index(expr_type, expr);
}

/// computed(name, definition, lower, upper); None as a bound means that there is none.
PyObject* builder_computed(PyObject* self, PyObject* args) {
  const char *name, *definition;
  PyObject *lower, *upper;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "ssOO", &name, &definition, &lower, &upper)) return nullptr;
  const int64_t low = lower == Py_None ? -INT64_MAX : PyLong_AsLongLong(lower);
  const int64_t high = upper == Py_None ? INT64_MAX : PyLong_AsLongLong(upper);
  if (PyErr_Occurred()) return nullptr;
  int32_t expr;
  if (const int status = litz_graph_computed(graph, name, definition, low, high, &expr)) return raise_status(status);
  return make_index(expr_type, expr);
}

/// expr(op, *operands): Exprs and ints.
PyObject* builder_expr(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  litz_graph* graph = graph_of(self);
  if (!graph) return nullptr;
  const char* op = count ? text_of(args[0]) : nullptr;
  if (!op) return PyErr_Format(PyExc_TypeError, "expr takes an operator and operands");
  std::vector<int32_t> operands;
  for (Py_ssize_t i = 1; i < count; i++) {
    int32_t number;
    if (Py_TYPE(args[i]) == expr_type) {
      number = number_of(args[i]);
    } else {
      const long long value = PyLong_AsLongLong(args[i]);
      if (value == -1 && PyErr_Occurred()) return nullptr;
      if (const int status = litz_graph_integer(graph, value, &number)) return raise_status(status);
    }
    operands.push_back(number);
  }
  int32_t expr;
  if (const int status = litz_graph_expr(graph, op, operands.data(), operands.size(), &expr)) return raise_status(status);
  return make_index(expr_type, expr);
}

template <typename Add>
PyObject* add_tensor(PyObject* self, const char* name, PyObject* meta, Add add) {
  litz_graph* graph = graph_of(self);
  if (!graph) return nullptr;
  Metas metas(self);
  if (!metas.add(meta)) return nullptr;
  int32_t value;
  if (const int status = add(graph, name, &metas.out[0], &value)) return raise_status(status);
  return make_index(value_type, value);
}
PyObject* builder_input(PyObject* self, PyObject* args) {
  const char* name;
  PyObject* meta;
  return PyArg_ParseTuple(args, "sO", &name, &meta) ? add_tensor(self, name, meta, litz_graph_input) : nullptr;
}
/// constant(name, meta, address of the first element or 0)
PyObject* builder_constant(PyObject* self, PyObject* args) {
  const char* name;
  PyObject* meta;
  unsigned long long address;
  if (!PyArg_ParseTuple(args, "sOK", &name, &meta, &address)) return nullptr;
  return add_tensor(self, name, meta, [&](litz_graph* graph, const char* text, const litz_tensor_meta* m, int32_t* value) {
    return litz_graph_constant(graph, text, m, reinterpret_cast<const void*>(address), value);
  });
}

PyObject* builder_size_input(PyObject* self, PyObject* args) {
  const char* name;
  PyObject* expr;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "sO!", &name, expr_type, &expr)) return nullptr;
  if (const int status = litz_graph_size_input(graph, name, number_of(expr))) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject* builder_schema(PyObject* self, PyObject* text) {
  litz_graph* graph = graph_of(self);
  const char* utf8 = text_of(text);
  if (!graph || !utf8) return nullptr;
  int32_t schema;
  if (const int status = litz_graph_schema(graph, utf8, &schema)) return raise_status(status);
  return PyLong_FromLong(schema);
}

PyObject* builder_bind(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "bind takes a node and what it stands for");
  if (PyDict_SetItem(reinterpret_cast<Builder*>(self)->bound, args[0], args[1])) return nullptr;
  Py_RETURN_NONE;
}

PyObject* builder_bound(PyObject* self, PyObject* node) {
  PyObject* found = PyDict_GetItemWithError(reinterpret_cast<Builder*>(self)->bound, node);
  if (!found && !PyErr_Occurred()) return PyErr_Format(unsupported_error, "node %S has no value", node);
  Py_XINCREF(found);
  return found;
}

/// call(name, schema, arguments, result metas, symbols, file or None, line, source text) -> tuple of Values
PyObject* builder_call(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  litz_graph* graph = graph_of(self);
  if (!graph) return nullptr;
  if (count != 8) return PyErr_Format(PyExc_TypeError, "call takes 8 arguments, got %zd", count);
  const char* name = text_of(args[0]);
  const long schema = PyLong_AsLong(args[1]);
  const char* file = args[5] == Py_None ? nullptr : text_of(args[5]);
  const long line = PyLong_AsLong(args[6]);
  const char* source = args[7] == Py_None ? nullptr : text_of(args[7]);
  if (PyErr_Occurred()) return nullptr;
  Flattener arguments(self);
  const Py_ssize_t argument_count = PySequence_Size(args[2]);
  for (Py_ssize_t i = 0; i < argument_count; i++) {
    Ref argument(PySequence_GetItem(args[2], i));
    if (!argument || !arguments.add(argument.get())) return nullptr;
  }
  Metas metas(self);
  const Py_ssize_t result_count = PySequence_Size(args[3]);
  for (Py_ssize_t i = 0; i < result_count; i++) {
    Ref meta(PySequence_GetItem(args[3], i));
    if (!meta || !metas.add(meta.get())) return nullptr;
  }
  std::vector<int32_t> symbols;
  const Py_ssize_t symbol_count = PySequence_Size(args[4]);
  for (Py_ssize_t i = 0; i < symbol_count; i++) {
    Ref symbol(PySequence_GetItem(args[4], i));
    if (!symbol) return nullptr;
    if (Py_TYPE(symbol.get()) != expr_type) return PyErr_Format(PyExc_TypeError, "a symbol of type %R", Py_TYPE(symbol.get()));
    symbols.push_back(number_of(symbol.get()));
  }
  if (argument_count < 0 || result_count < 0 || symbol_count < 0) return nullptr;
  int32_t first;
  if (const int status =
          litz_graph_call(graph, name, static_cast<int32_t>(schema), arguments.out.data(), arguments.out.size(), metas.out.data(),
                          metas.out.size(), symbols.data(), symbols.size(), file, static_cast<int>(line), source, &first))
    return raise_status(status);
  Ref values(PyTuple_New(result_count));
  for (Py_ssize_t i = 0; values && i < result_count; i++) {
    PyObject* value = make_index(value_type, first + static_cast<int32_t>(i));
    if (!value) return nullptr;
    PyTuple_SetItem(values.get(), i, value);
  }
  return values.release();
}

PyObject* builder_output(PyObject* self, PyObject* args) {
  PyObject* output;
  int promised;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "Op", &output, &promised)) return nullptr;
  Flattener flat(self);
  if (!flat.add(output)) return nullptr;
  if (flat.out.size() != 1) return PyErr_Format(PyExc_TypeError, "an output is one value");
  if (const int status = litz_graph_output(graph, &flat.out[0], promised)) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject* builder_set_inference(PyObject* self, PyObject* is_inference) {
  litz_graph* graph = graph_of(self);
  if (!graph) return nullptr;
  if (const int status = litz_graph_set_inference(graph, PyObject_IsTrue(is_inference))) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject* builder_text(PyObject* self, PyObject*) {
  litz_graph* graph = graph_of(self);
  char* text = nullptr;
  if (!graph) return nullptr;
  if (const int status = litz_graph_text(graph, &text)) return raise_status(status);
  PyObject* made = PyUnicode_FromString(text);
  litz_free_text(text);
  return made;
}

PyObject* builder_verify(PyObject* self, PyObject*) {
  litz_graph* graph = graph_of(self);
  if (!graph) return nullptr;
  if (const int status = litz_graph_verify(graph)) return raise_status(status);
  Py_RETURN_NONE;
}

/// parse(text) -> GraphBuilder
PyObject* builder_parse(PyObject* cls, PyObject* text) {
  Py_ssize_t length;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &length);
  if (!utf8) return nullptr;
  Ref made(PyObject_CallFunction(cls, "s", "parsed"));
  if (!made) return nullptr;
  litz_graph* graph = nullptr;
  if (const int status = litz_graph_parse(utf8, static_cast<size_t>(length), &graph)) return raise_status(status);
  auto* builder = reinterpret_cast<Builder*>(made.get());
  litz_graph_destroy(builder->graph);
  builder->graph = graph;
  return made.release();
}

/// compile(["key=value", ...], constants) -> Program; the builder is empty afterwards.
PyObject* builder_compile(PyObject* self, PyObject* args) {
  PyObject *options, *constants;
  litz_graph* graph = graph_of(self);
  if (!graph || !PyArg_ParseTuple(args, "O!O!", &PyList_Type, &options, &PyTuple_Type, &constants)) return nullptr;
  std::vector<const char*> texts;
  for (Py_ssize_t i = 0; i < PyList_Size(options); i++) {
    texts.push_back(text_of(PyList_GetItem(options, i)));
    if (!texts.back()) return nullptr;
  }
  Ref list(PySequence_List(constants));
  Ref kept(list ? PyTuple_Pack(2, list.get(), torch_objects.keep_constant) : nullptr);
  if (!kept) return nullptr;
  const litz_constant_host host = constant_host(kept.get());
  reinterpret_cast<Builder*>(self)->graph = nullptr;
  litz_program* program = nullptr;
  int status;
  Py_BEGIN_ALLOW_THREADS;
  status = litz_compile(graph, texts.data(), texts.size(), &host, torch_objects.framework, &program);
  Py_END_ALLOW_THREADS;
  if (status) return raise_status(status);
  Ref all(PyList_AsTuple(list.get()));
  return all ? wrap_program(program, all.get()) : nullptr;
}

template <typename F>
PyCFunction c_function(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

PyObject* make_builder_type(PyObject* module) {
  auto index_type = [&](const char* name, reprfunc repr) {
    PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(index_dealloc)}, {Py_tp_repr, reinterpret_cast<void*>(repr)}, {0, nullptr}};
    PyType_Spec spec = {name, sizeof(Index), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  };
  value_type = index_type("litz._C.Value", value_repr);
  expr_type = index_type("litz._C.Expr", expr_repr);
  static PyMethodDef methods[] = {
      {"integer", builder_integer, METH_O, "The expression of a number."},
      {"symbol", builder_symbol, METH_VARARGS, "symbol(name, unbacked, lower, upper, hint): None for no bound, no hint."},
      {"float_symbol", builder_float_symbol, METH_VARARGS, "float_symbol(name, unbacked): a float that the call is given or computes."},
      {"computed", builder_computed, METH_VARARGS, "computed(name, definition, lower, upper): a symbol with the value of a definition."},
      {"expr", c_function(builder_expr), METH_FASTCALL, "expr(op, *operands) with the operators of litz_graph_expr."},
      {"input", builder_input, METH_VARARGS, "input(name, meta) -> Value"},
      {"constant", builder_constant, METH_VARARGS, "constant(name, meta, address of its data in host memory or 0) -> Value"},
      {"size_input", builder_size_input, METH_VARARGS, "size_input(name, expr)"},
      {"schema", builder_schema, METH_O, "The number of a schema, given as PyTorch writes it."},
      {"bind", c_function(builder_bind), METH_FASTCALL, "bind(node, what): what an fx node stands for as an argument."},
      {"bound", builder_bound, METH_O, "What a node stands for."},
      {"call", c_function(builder_call), METH_FASTCALL, "call(name, schema, arguments, metas, symbols, file, line, source) -> Values"},
      {"output", builder_output, METH_VARARGS, "output(value, strides_are_promised)"},
      {"set_inference", builder_set_inference, METH_O, "Whether no gradient will be asked for."},
      {"text", builder_text, METH_NOARGS, "The graph as .ir text."},
      {"verify", builder_verify, METH_NOARGS, "Raises if the graph breaks a rule of graph IR."},
      {"parse", builder_parse, METH_O | METH_CLASS, "A builder that holds the graph of an .ir text."},
      {"compile", builder_compile, METH_VARARGS, "compile(options, constants) -> Program; takes the graph."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(builder_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(builder_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>("GraphBuilder(name, to_expr): a graph under construction.")},
                         {0, nullptr}};
  PyType_Spec spec = {"litz._C.GraphBuilder", sizeof(Builder), 0, Py_TPFLAGS_DEFAULT, slots};
  Ref type(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!value_type || !expr_type || !type) return nullptr;
  if (PyModule_AddObjectRef(module, "GraphBuilder", type.get()) ||
      PyModule_AddObjectRef(module, "Value", reinterpret_cast<PyObject*>(value_type)) ||
      PyModule_AddObjectRef(module, "Expr", reinterpret_cast<PyObject*>(expr_type)))
    return nullptr;
  return module;
}

}  // namespace litz_ext
