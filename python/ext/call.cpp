// litz._C.Program: a compiled graph, and the path of every call. `callable()` is a builtin function bound to the program, so that
// Python calls it without an argument tuple; it reads tensors through the DLPack function table and runs the executor.
#include <cstring>
#include <memory>
#include <vector>

#include "ext.h"

namespace litz_ext {
namespace {

struct Program {
  PyObject_HEAD litz_program* program;
  PyObject* constants;  // tuple of tensors
  std::vector<litz_call_argument>* constant_arguments;
  std::vector<uint8_t>* needs;  // litz_argument_need per argument of the caller
  litz_program_shape shape;
};

void program_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Program*>(object);
  delete self->constant_arguments;
  delete self->needs;
  if (self->program) litz_program_destroy(self->program);
  Py_XDECREF(self->constants);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

/// Reads a tensor as an argument; 0, or -1 with an exception. A tensor without memory of its own (fake, meta, functional) is refused:
/// it has no data though it has elements.
int read_argument(PyObject* object, Py_ssize_t position, uint8_t need, litz_call_argument* out) {
  out->object = object;
  if (need == LITZ_NEEDS_NUMBER) {
    if (PyFloat_Check(object)) {  // of a float symbol: its bits
      const double value = PyFloat_AsDouble(object);
      std::memcpy(&out->number, &value, sizeof value);
      return 0;
    }
    out->number = PyLong_AsLongLong(object);
    return out->number == -1 && PyErr_Occurred() ? -1 : 0;
  }
  if (!is_tensor(object)) [[unlikely]] {
    PyErr_Format(PyExc_TypeError, "argument %zd of a compiled graph: found %R, expected a tensor", position, Py_TYPE(object));
    return -1;
  }
  if (need == LITZ_NEEDS_OBJECT) return 0;
  DlTensor tensor;
  if (read_tensor(object, &tensor)) [[unlikely]]
    return -1;
  out->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  out->sizes = tensor.sizes;
  out->strides = tensor.strides;
  out->rank = tensor.rank;
  if (!tensor.data) [[unlikely]] {
    for (int32_t d = 0; d < tensor.rank; d++)
      if (tensor.sizes[d] == 0) return 0;
    PyErr_Format(PyExc_TypeError, "argument %zd of a compiled graph is a tensor without memory (fake or meta)", position);
    return -1;
  }
  return 0;
}

PyObject* output_object(const litz_call_output& output, PyObject* const* arguments, PyObject* results) {
  switch (output.kind) {
    case LITZ_OUT_TENSOR: return take_tensor(output.tensor);
    case LITZ_OUT_ARGUMENT: return Py_NewRef(arguments[output.index]);
    case LITZ_OUT_SAME_AS: return Py_NewRef(PyTuple_GetItem(results, output.index));
    case LITZ_OUT_INT: return PyLong_FromLongLong(output.integer);
    case LITZ_OUT_FLOAT: return PyFloat_FromDouble(output.number);
    case LITZ_OUT_BOOL: return PyBool_FromLong(output.integer != 0);
    default: Py_RETURN_NONE;
  }
}

PyObject* raise_run_status(litz_run_status status) {
  if (PyErr_Occurred()) return nullptr;
  PyObject* type = status == LITZ_RUN_INDEX_ERROR     ? PyExc_IndexError
                   : status == LITZ_RUN_ZERO_DIVISION ? PyExc_ZeroDivisionError
                                                      : PyExc_RuntimeError;
  PyErr_SetString(type, litz_error_message());
  return nullptr;
}

constexpr size_t kOnStack = 48;

/// owned: the references in `arguments` are given up, each as soon as possible; the array is empty afterwards.
PyObject* run(Program* self, PyObject** arguments, Py_ssize_t count, bool owned) {
  if (count != self->shape.argument_count) [[unlikely]]
    return PyErr_Format(PyExc_TypeError, "a compiled graph takes %d arguments, got %zd", self->shape.argument_count, count);
  const size_t total = static_cast<size_t>(count) + self->constant_arguments->size();
  const auto output_count = static_cast<size_t>(self->shape.output_count);
  litz_call_argument few_arguments[kOnStack];
  litz_call_output few_outputs[kOnStack];
  std::unique_ptr<litz_call_argument[]> many_arguments(total > kOnStack ? new litz_call_argument[total] : nullptr);
  std::unique_ptr<litz_call_output[]> many_outputs(output_count > kOnStack ? new litz_call_output[output_count] : nullptr);
  litz_call_argument* in = many_arguments ? many_arguments.get() : few_arguments;
  litz_call_output* out = many_outputs ? many_outputs.get() : few_outputs;
  const uint8_t* needs = self->needs->data();
  for (Py_ssize_t i = 0; i < count; i++)
    if (read_argument(arguments[i], i, needs[i], &in[i])) return nullptr;
  for (size_t i = static_cast<size_t>(count); i < total; i++) in[i] = (*self->constant_arguments)[i - static_cast<size_t>(count)];

  const litz_run_status status = litz_program_run(self->program, in, out, owned);
  if (owned)
    for (Py_ssize_t i = 0; i < count; i++)
      if (!in[i].object) arguments[i] = nullptr;
  if (status != LITZ_RUN_OK) [[unlikely]]
    return raise_run_status(status);

  Ref results(PyTuple_New(static_cast<Py_ssize_t>(output_count)));
  for (size_t i = 0; i < output_count; i++) {
    PyObject* object = results ? output_object(out[i], arguments, results.get()) : nullptr;
    if (!object) [[unlikely]] {
      for (size_t k = results ? i + 1 : 0; k < output_count; k++)
        if (out[k].kind == LITZ_OUT_TENSOR) release_handle(out[k].tensor);
      return nullptr;
    }
    PyTuple_SetItem(results.get(), static_cast<Py_ssize_t>(i), object);
  }
  return results.release();
}

PyObject* call(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return run(reinterpret_cast<Program*>(self), const_cast<PyObject**>(arguments), count, false);
}

/// The same while Dynamo looks at no frame: Python code that an op runs is not captured. What `torch._dynamo.disable` does in Python.
PyObject* call_without_dynamo(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* set_callback = torch_objects.set_eval_frame;
  Ref callback(PyObject_CallFunctionObjArgs(set_callback, Py_None, nullptr));
  if (!callback) return nullptr;
  PyObject* results = call(self, arguments, count);
  if (callback.get() == Py_None) return results;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  if (!results) PyErr_Fetch(&type, &value, &traceback);
  Ref restored(PyObject_CallFunctionObjArgs(set_callback, callback.get(), nullptr));
  if (!results) {
    PyErr_Restore(type, value, traceback);
  } else if (!restored) {
    Py_DECREF(results);
    return nullptr;
  }
  return results;
}

/// The convention of AOTAutograd: one list, emptied, so that the caller holds no argument longer than needed.
PyObject* call_boxed(PyObject* self, PyObject* list) {
  if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "a boxed call takes one list, got %R", Py_TYPE(list));
  const Py_ssize_t count = PyList_Size(list);
  std::vector<PyObject*> arguments(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; i++) arguments[static_cast<size_t>(i)] = Py_NewRef(PyList_GetItem(list, i));
  PyObject* results =
      PyList_SetSlice(list, 0, count, nullptr) ? nullptr : run(reinterpret_cast<Program*>(self), arguments.data(), count, true);
  for (PyObject* argument : arguments) Py_XDECREF(argument);
  return results;
}

constexpr char kGraphDoc[] = "A graph that Litz compiled: takes its inputs, gives the tuple of its outputs.";

PyObject* program_callable(PyObject* self, PyObject*) {
  static PyMethodDef method = {"litz_graph", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL, kGraphDoc};
  return PyCFunction_NewEx(&method, self, nullptr);
}

PyObject* program_callable_without_dynamo(PyObject* self, PyObject*) {
  static PyMethodDef method = {"litz_graph", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_without_dynamo)),
                               METH_FASTCALL, kGraphDoc};
  return PyCFunction_NewEx(&method, self, nullptr);
}

PyObject* take_text(int status, char* text) {
  if (status) return raise_status(status);
  PyObject* made = PyUnicode_FromString(text);
  litz_free_text(text);
  return made;
}

PyObject* program_report(PyObject* self, PyObject*) {
  char* json = nullptr;
  const int status = litz_program_report(reinterpret_cast<Program*>(self)->program, &json);
  return take_text(status, json);
}

PyObject* program_text(PyObject* self, PyObject*) {
  char* text = nullptr;
  const int status = litz_program_text(reinterpret_cast<Program*>(self)->program, &text);
  return take_text(status, text);
}

PyTypeObject* program_type = nullptr;

}  // namespace

PyObject* wrap_program(litz_program* program, PyObject* constants) {
  auto* self = PyObject_New(Program, program_type);
  if (!self) {
    litz_program_destroy(program);
    return nullptr;
  }
  self->program = program;
  self->constants = PyTuple_New(litz_program_get_shape(program).constant_count);
  self->constant_arguments = new std::vector<litz_call_argument>;
  self->needs = new std::vector<uint8_t>;
  self->shape = litz_program_get_shape(program);
  Ref object(reinterpret_cast<PyObject*>(self));
  for (int32_t i = 0; i < self->shape.argument_count; i++)
    self->needs->push_back(static_cast<uint8_t>(litz_program_argument_need(program, i)));
  for (int32_t i = 0; i < self->shape.constant_count; i++) {
    const int32_t position = litz_program_constant(program, i);
    if (position >= PyTuple_Size(constants))
      return PyErr_Format(PyExc_ValueError, "the program takes constant %d of the graph, got %zd tensors", position,
                          PyTuple_Size(constants));
    PyObject* constant = PyTuple_GetItem(constants, position);
    PyTuple_SetItem(self->constants, i, Py_NewRef(constant));  // the others are not needed any more
    litz_call_argument argument{};
    const auto need = static_cast<uint8_t>(litz_program_argument_need(program, self->shape.argument_count + i));
    if (read_argument(constant, position, need, &argument)) return nullptr;
    self->constant_arguments->push_back(argument);
  }
  return object.release();
}

PyObject* make_program_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"callable", program_callable, METH_NOARGS, "A function that takes the graph's inputs and gives the tuple of its outputs."},
      {"callable_without_dynamo", program_callable_without_dynamo, METH_NOARGS,
       "The same; what Python code its ops run is not captured by Dynamo."},
      {"call_boxed", call_boxed, METH_O, "The same with one list of inputs, which is emptied."},
      {"report", program_report, METH_NOARGS, "What the compile did, as JSON text."},
      {"text", program_text, METH_NOARGS, "The wrapper program, a line per line."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(program_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>("A compiled graph.")},
                         {0, nullptr}};
  PyType_Spec spec = {"litz._C.Program", sizeof(Program), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  program_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!program_type || PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject*>(program_type))) return nullptr;
  return module;
}

}  // namespace litz_ext
