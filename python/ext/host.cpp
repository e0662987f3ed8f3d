// Calls of torch.ops through CPython: the way that takes every op.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ext.h"

namespace litz_ext {
namespace {

/// An argument of a prepared call: a constant, or what to fetch from the frame.
struct Argument {
  litz_argument_kind kind = LITZ_ARG_NONE;
  Ref constant;
  int64_t index = 0;  // slot or table entry
  std::vector<Argument> elements;
};

struct PreparedCall {
  Ref callable, keywords;  // keywords: tuple of names
  size_t positional = 0;
  std::vector<Argument> arguments;
};

PyObject* lookup(PyObject* dict, PyObject* owned_key) {
  Ref key(owned_key);
  PyObject* found = key ? PyDict_GetItemWithError(dict, key.get()) : nullptr;
  if (!found && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key.get());
  Py_XINCREF(found);
  return found;
}

bool is_layout(const char* type) { return std::strncmp(type, "Layout", 6) == 0; }

/// Reads one argument and its elements; false with an exception.
bool read(const litz_argument* from, size_t count, size_t& next, const char* type, Argument* out) {
  if (next >= count) return PyErr_SetString(PyExc_ValueError, "the arguments end inside a list"), false;
  const litz_argument& a = from[next++];
  out->kind = a.kind;
  out->index = a.integer;
  switch (a.kind) {
    case LITZ_ARG_NONE: out->constant = Ref(Py_NewRef(Py_None)); break;
    case LITZ_ARG_BOOL: out->constant = Ref(PyBool_FromLong(a.integer != 0)); break;
    case LITZ_ARG_INT: out->constant = Ref(PyLong_FromLongLong(a.integer)); break;
    case LITZ_ARG_FLOAT: out->constant = Ref(PyFloat_FromDouble(a.real)); break;
    case LITZ_ARG_COMPLEX: out->constant = Ref(PyComplex_FromDoubles(a.real, a.imaginary)); break;
    case LITZ_ARG_STRING:
      out->constant = Ref(is_layout(type) ? lookup(torch_objects.layouts, PyUnicode_FromString(a.text)) : PyUnicode_FromString(a.text));
      break;
    case LITZ_ARG_DTYPE: out->constant = Ref(lookup(torch_objects.dtypes, PyLong_FromLongLong(a.integer))); break;
    case LITZ_ARG_MEMORY_FORMAT: out->constant = Ref(lookup(torch_objects.memory_formats, PyLong_FromLongLong(a.integer))); break;
    case LITZ_ARG_DEVICE: {
      auto* device = reinterpret_cast<PyObject*>(torch_objects.device_type);
      const bool has_index = std::strcmp(a.text, "cpu") != 0 && std::strcmp(a.text, "meta") != 0 && a.integer >= 0;
      out->constant = Ref(has_index ? PyObject_CallFunction(device, "sL", a.text, static_cast<long long>(a.integer))
                                    : PyObject_CallFunction(device, "s", a.text));
      break;
    }
    case LITZ_ARG_EXPR:
    case LITZ_ARG_FLOAT_EXPR:
    case LITZ_ARG_VALUE: return true;
    case LITZ_ARG_LIST:
      out->elements.resize(static_cast<size_t>(a.integer));
      for (Argument& element : out->elements)
        if (!read(from, count, next, "", &element)) return false;
      return true;
  }
  return static_cast<bool>(out->constant);
}

/// Where a running call finds its tensors and numbers.
struct FrameValues {
  litz_frame* frame;
  PyObject* number(int64_t index) const { return PyLong_FromLongLong(litz_frame_number(frame, index)); }
  PyObject* real(int64_t index) const {
    const int64_t word = litz_frame_number(frame, index);
    double value;
    std::memcpy(&value, &word, sizeof value);
    return PyFloat_FromDouble(value);
  }
  PyObject* tensor(int64_t index) const {
    void* handle = litz_frame_tensor(frame, index);
    if (handle) return tensor_of(handle);
    if (!PyErr_Occurred()) Py_RETURN_NONE;  // an undefined result of an earlier call
    return nullptr;
  }
};

/// The constants of a graph that is being compiled: a list.
struct ConstantValues {
  PyObject* constants;
  PyObject* number(int64_t) const { return PyErr_Format(PyExc_ValueError, "a size among the arguments of an op on constants"); }
  PyObject* real(int64_t index) const { return number(index); }
  PyObject* tensor(int64_t index) const { return Py_XNewRef(PyList_GetItem(constants, static_cast<Py_ssize_t>(index))); }
};

/// New reference to what the call gets; null with an exception.
template <typename Values>
PyObject* make(const Argument& argument, const Values& values) {
  switch (argument.kind) {
    case LITZ_ARG_EXPR: return values.number(argument.index);
    case LITZ_ARG_FLOAT_EXPR: return values.real(argument.index);
    case LITZ_ARG_VALUE: return values.tensor(argument.index);
    case LITZ_ARG_LIST: {
      Ref list(PyList_New(static_cast<Py_ssize_t>(argument.elements.size())));
      for (size_t i = 0; list && i < argument.elements.size(); i++) {
        PyObject* element = make(argument.elements[i], values);
        if (!element) return nullptr;
        PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), element);
      }
      return list.release();
    }
    default: return Py_NewRef(argument.constant.get());
  }
}

struct Results {
  litz_frame* frame;
  size_t tensors = 0, numbers = 0;

  /// Hands over what an op returned: a tensor, a number, or a list or tuple of these.
  bool take(PyObject* result) {
    if (is_tensor(result)) {
      void* handle = nullptr;
      if (handle_of(result, &handle)) return false;
      return litz_frame_set_result(frame, tensors++, handle) == 0;
    }
    if (PyTuple_Check(result) || PyList_Check(result)) {
      const Py_ssize_t size = PySequence_Size(result);
      for (Py_ssize_t i = 0; i < size; i++) {
        Ref element(PySequence_GetItem(result, i));
        if (!element) return false;
        if (element.get() == Py_None) litz_frame_set_result(frame, tensors++, nullptr);
        else if (!take(element.get())) return false;
      }
      return true;
    }
    if (result == Py_None) return true;
    if (PyLong_Check(result)) {
      const long long value = PyLong_AsLongLong(result);
      if (value == -1 && PyErr_Occurred()) return false;
      litz_frame_set_number_result(frame, numbers++, value);
      return true;
    }
    PyErr_Format(PyExc_TypeError, "an op gave a result of type %R, expected tensors and integers", Py_TYPE(result));
    return false;
  }
};

/// The text of the pending exception, which is cleared.
void take_exception_text(char* text, size_t size) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref a(type), b(value), c(traceback);
  Ref message(value ? PyObject_Str(value) : nullptr);
  const char* utf8 = message ? PyUnicode_AsUTF8AndSize(message.get(), nullptr) : nullptr;
  std::snprintf(text, size, "%s", utf8 ? utf8 : "unknown error");
  PyErr_Clear();
}

void* prepare_call(const char* op, const char* schema, const litz_argument* arguments, size_t count, char* reason, size_t reason_size) {
  auto prepared = std::make_unique<PreparedCall>();
  Ref found(PyObject_CallFunction(torch_objects.resolve_op, "ss", op, schema));
  if (found) {
    prepared->callable = Ref(Py_NewRef(PyTuple_GetItem(found.get(), 0)));
    prepared->positional = static_cast<size_t>(PyLong_AsSsize_t(PyTuple_GetItem(found.get(), 1)));
    prepared->keywords = Ref(Py_NewRef(PyTuple_GetItem(found.get(), 2)));
    PyObject* types = PyTuple_GetItem(found.get(), 3);
    for (size_t next = 0; next < count;) {
      PyObject* type = PyTuple_GetItem(types, static_cast<Py_ssize_t>(prepared->arguments.size()));
      const char* type_text = type ? PyUnicode_AsUTF8AndSize(type, nullptr) : nullptr;
      prepared->arguments.emplace_back();
      if (!type_text || !read(arguments, count, next, type_text, &prepared->arguments.back())) break;
    }
  }
  if (PyErr_Occurred()) {
    take_exception_text(reason, reason_size);
    return nullptr;
  }
  return prepared.release();
}

template <typename Values>
PyObject* call_with(const PreparedCall& prepared, const Values& values) {
  Ref positional(PyTuple_New(static_cast<Py_ssize_t>(prepared.positional)));
  Ref keywords;
  if (!positional) return nullptr;
  if (prepared.positional < prepared.arguments.size()) keywords = Ref(PyDict_New());
  for (size_t i = 0; i < prepared.arguments.size(); i++) {
    Ref argument(make(prepared.arguments[i], values));
    if (!argument) return nullptr;
    if (i < prepared.positional) {
      PyTuple_SetItem(positional.get(), static_cast<Py_ssize_t>(i), argument.release());
    } else {
      PyObject* name = PyTuple_GetItem(prepared.keywords.get(), static_cast<Py_ssize_t>(i - prepared.positional));
      if (!name || PyDict_SetItem(keywords.get(), name, argument.get())) return nullptr;
    }
  }
  return PyObject_Call(prepared.callable.get(), positional.get(), keywords.get());
}

int call_now(const PreparedCall& prepared, litz_frame* frame) {
  Ref result(call_with(prepared, FrameValues{frame}));
  return result && Results{frame}.take(result.get()) ? 0 : 1;
}

/// Calls an op on constants; `pair`: the list of constants and litz._torch.keep_constant.
bool evaluate_now(PyObject* pair, const char* op, const char* schema, const litz_argument* arguments, size_t count,
                  litz_constant_result* results, size_t result_count) {
  PyObject* constants = PyTuple_GetItem(pair, 0);
  char reason[256];
  std::unique_ptr<PreparedCall> prepared(static_cast<PreparedCall*>(prepare_call(op, schema, arguments, count, reason, sizeof reason)));
  Ref made(prepared ? call_with(*prepared, ConstantValues{constants}) : nullptr);
  const bool is_one = made && is_tensor(made.get());
  bool done = made && (is_one ? 1 : PySequence_Size(made.get())) == static_cast<Py_ssize_t>(result_count);
  for (size_t i = 0; done && i < result_count; i++) {
    Ref tensor(is_one ? Py_NewRef(made.get()) : PySequence_GetItem(made.get(), static_cast<Py_ssize_t>(i)));
    Ref sizes(PyTuple_New(results[i].rank)), strides(PyTuple_New(results[i].rank));
    for (int32_t d = 0; d < results[i].rank; d++) {
      PyTuple_SetItem(sizes.get(), d, PyLong_FromLongLong(results[i].sizes[d]));
      PyTuple_SetItem(strides.get(), d, PyLong_FromLongLong(results[i].strides[d]));
    }
    Ref number(
        PyObject_CallFunction(PyTuple_GetItem(pair, 1), "OOiOO", constants, tensor.get(), results[i].dtype, sizes.get(), strides.get()));
    results[i].constant = number ? PyLong_AsLongLong(number.get()) : -1;
    done = results[i].constant >= 0;
  }
  return done;
}

/// litz_constant_host::evaluate.
int evaluate_constant(void* context, const char* op, const char* schema, const litz_argument* arguments, size_t count,
                      litz_constant_result* results, size_t result_count) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  const bool done = evaluate_now(static_cast<PyObject*>(context), op, schema, arguments, count, results, result_count);
  PyErr_Clear();  // an op that fails stays in the graph, where it may raise
  PyGILState_Release(lock);
  return done ? 0 : 1;
}

int64_t suspend_autocast() {
  Ref enabled(PyObject_CallNoArgs(torch_objects.is_any_autocast_enabled));
  if (!enabled || enabled.get() == Py_False) return 0;
  Ref token(PyObject_CallNoArgs(torch_objects.autocast_suspend));
  return token ? PyLong_AsLongLong(token.get()) : 0;
}

void restore_autocast(int64_t token) {
  PyObject *type, *value, *traceback;  // of a failed call
  PyErr_Fetch(&type, &value, &traceback);
  Ref done(PyObject_CallFunction(torch_objects.autocast_restore, "L", static_cast<long long>(token)));
  PyErr_Restore(type, value, traceback);
}

}  // namespace

litz_constant_host constant_host(PyObject* list_and_keeper) { return {list_and_keeper, evaluate_constant}; }

const litz_host& host_functions() {
  static const litz_host host = {
      [](void* object, void** tensor) {
        const PyGILState_STATE lock = PyGILState_Ensure();
        const int failed = handle_of(static_cast<PyObject*>(object), tensor);
        PyGILState_Release(lock);
        return failed;
      },
      [](void* object) {
        const PyGILState_STATE lock = PyGILState_Ensure();
        Py_DECREF(static_cast<PyObject*>(object));
        PyGILState_Release(lock);
      },
      [](const char* op, const char* schema, const litz_argument* arguments, size_t count, char* reason, size_t reason_size) -> void* {
        const PyGILState_STATE lock = PyGILState_Ensure();
        void* prepared = prepare_call(op, schema, arguments, count, reason, reason_size);
        PyGILState_Release(lock);
        return prepared;
      },
      [](void* prepared, litz_frame* frame) {
        const PyGILState_STATE lock = PyGILState_Ensure();
        const int failed = call_now(*static_cast<PreparedCall*>(prepared), frame);
        PyGILState_Release(lock);
        return failed;
      },
      [](void* prepared) {
        if (!Py_IsInitialized()) return;
        const PyGILState_STATE lock = PyGILState_Ensure();
        delete static_cast<PreparedCall*>(prepared);
        PyGILState_Release(lock);
      },
      suspend_autocast,
      restore_autocast,
      []() -> void* { return PyEval_SaveThread(); },
      [](void* token) { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); },
  };
  return host;
}

}  // namespace litz_ext
