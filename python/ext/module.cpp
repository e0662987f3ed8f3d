// litz._C: the module and what concerns the library itself.
#include "ext.h"
#include "litz/driver/measure_api.h"

namespace litz_ext {

PyObject* unsupported_error = nullptr;
PyObject* user_error = nullptr;

PyObject* raise_status(int status) {
  PyObject* type = status == LITZ_UNSUPPORTED ? unsupported_error : status == LITZ_USER_ERROR ? user_error : PyExc_RuntimeError;
  PyErr_SetString(type, litz_error_message());
  return nullptr;
}

namespace {

PyObject* version(PyObject*, PyObject*) { return PyUnicode_FromString(litz_version()); }
PyObject* compiler_version(PyObject*, PyObject*) { return PyUnicode_FromString(litz_compiler_version()); }

PyObject* prepare(PyObject*, PyObject* device_type) {
  const char* type = PyUnicode_AsUTF8AndSize(device_type, nullptr);
  if (!type) return nullptr;
  litz_prepare(type);
  Py_RETURN_NONE;
}

/// set_worker_command("cuda", ["python", "worker.py"])
PyObject* set_worker_command(PyObject*, PyObject* args) {
  const char* device;
  PyObject* list;
  if (!PyArg_ParseTuple(args, "sO", &device, &list)) return nullptr;
  const char* words[16];
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return nullptr;
  if (count > 16) return PyErr_Format(PyExc_ValueError, "a command of %zd words, at most 16", count);
  for (Py_ssize_t i = 0; i < count; i++)
    if (!(words[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr))) return nullptr;
  litz_set_worker_command(device, words, static_cast<size_t>(count));
  Py_RETURN_NONE;
}

int measure_now(void* context, const char* request, double* microseconds, size_t count) {
  const PyGILState_STATE lock = PyGILState_Ensure();
  Ref times(PyObject_CallFunction(static_cast<PyObject*>(context), "s", request));
  bool done = times && PyList_Check(times.get()) && PyList_Size(times.get()) == static_cast<Py_ssize_t>(count);
  for (size_t i = 0; done && i < count; i++) {
    microseconds[i] = PyFloat_AsDouble(PyList_GetItem(times.get(), static_cast<Py_ssize_t>(i)));
    done = !PyErr_Occurred();
  }
  if (PyErr_Occurred()) PyErr_WriteUnraisable(static_cast<PyObject*>(context));
  PyGILState_Release(lock);
  return done ? 0 : 1;
}

/// set_measurer(function of a request that gives a list of numbers): for the life of the process
PyObject* set_measurer(PyObject*, PyObject* function) {
  Py_INCREF(function);
  litz_set_measurer(measure_now, function);
  Py_RETURN_NONE;
}

/// run_text(text of a graph, last stage or level, "key=value" ...)
PyObject* run_text(PyObject*, PyObject* args) {
  const char *text, *last;
  const char* options[16] = {};
  if (!PyArg_ParseTuple(args, "ss|ssssssss", &text, &last, &options[0], &options[1], &options[2], &options[3], &options[4], &options[5],
                        &options[6], &options[7]))
    return nullptr;
  size_t count = 0;
  while (options[count]) ++count;
  char* result = nullptr;
  if (const int status = litz_run_on_text(text, "graph", last, options, count, &result)) return raise_status(status);
  PyObject* made = PyUnicode_FromString(result);
  litz_free_text(result);
  return made;
}

PyObject* selftest_jit(PyObject*, PyObject*) {
  char message[4096];
  int failed;
  Py_BEGIN_ALLOW_THREADS;
  failed = litz_selftest_jit(message, sizeof(message));
  Py_END_ALLOW_THREADS;
  if (failed) return PyErr_Format(PyExc_RuntimeError, "%s", message);
  Py_RETURN_NONE;
}

PyObject* list_options(PyObject*, PyObject*) {
  char* json = nullptr;
  if (const int status = litz_list_options(&json)) return raise_status(status);
  PyObject* text = PyUnicode_FromString(json);
  litz_free_text(json);
  return text;
}

/// check_options(["key=value", ...])
PyObject* check_options(PyObject*, PyObject* list) {
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return nullptr;
  const char** texts = new const char*[static_cast<size_t>(count) + 1];
  for (Py_ssize_t i = 0; i < count; i++)
    if (!(texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr))) {
      delete[] texts;
      return nullptr;
    }
  const int status = litz_check_options(texts, static_cast<size_t>(count));
  delete[] texts;
  if (status) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject* set_tiers(PyObject*, PyObject* args) {
  int typed, dispatcher, host;
  if (!PyArg_ParseTuple(args, "ppp", &typed, &dispatcher, &host)) return nullptr;
  if (!torch_objects.framework) return PyErr_Format(PyExc_RuntimeError, "initialise comes first");
  litz_framework_set_tiers(torch_objects.framework, typed, dispatcher, host);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "The version of Litz, as in '0.1.0'."},
    {"compiler_version", compiler_version, METH_NOARGS, "The C++ compiler inside, as in 'clang 19.1.7'."},
    {"prepare", prepare, METH_O, "Starts, in the background, what a first compile for this type of device would wait for."},
    {"set_measurer", set_measurer, METH_O, "set_measurer(function): how candidates are timed, see litz/measure.py"},
    {"set_worker_command", set_worker_command, METH_VARARGS,
     "How a type of device starts compiler processes: its name, then a list of words."},
    {"run_text", run_text, METH_VARARGS, "run_text(graph, last): the text that is left after the stage or level `last` of the pipeline."},
    {"selftest_jit", selftest_jit, METH_NOARGS,
     "Compiles and runs a small kernel; raises RuntimeError with the reason when it is not right."},
    {"list_options", list_options, METH_NOARGS, "Every option as JSON text."},
    {"check_options", check_options, METH_O, "Raises UserError, with the known names, unless each 'key=value' is an option."},
    {"initialise", initialise, METH_O, "Takes torch's types and functions (a dict, see litz/_torch.py); once per process."},
    {"set_tiers", set_tiers, METH_VARARGS, "set_tiers(typed, dispatcher, host): which ways of calling an op later compiles may use."},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  unsupported_error =
      PyErr_NewExceptionWithDoc("litz._C.Unsupported", "Litz does not take this graph; the text says why.", nullptr, nullptr);
  user_error = PyErr_NewExceptionWithDoc("litz._C.UserError", "Wrong input; the text says what was found and what was expected.",
                                         PyExc_ValueError, nullptr);
  if (!unsupported_error || !user_error) return -1;
  if (PyModule_AddObjectRef(module, "Unsupported", unsupported_error) || PyModule_AddObjectRef(module, "UserError", user_error)) return -1;
  return make_builder_type(module) && make_program_type(module) ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "litz._C", "The C API of liblitz.", 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace litz_ext

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&litz_ext::definition); }
