// Torch's Python objects: looked up once, and the two ways between a tensor object and a handle.
#include <dlfcn.h>

#include "ext.h"

namespace litz_ext {

Torch torch_objects;
int (*read_tensor)(void* object, DlTensor* out) = nullptr;

namespace {

// torch 2.14 and later.
int (*tensor_from_pyobject)(void* object, void** handle) = nullptr;
int (*tensor_to_pyobject)(void* handle, void* type, void** object) = nullptr;
// A handle is an at::Tensor*, and these functions of libtorch_python take one. The first moves out of it, which saves counting references
// to and fro, a tenth of a microsecond for every result; the others are for torch 2.11 to 2.13, which have no C function.
PyObject* (*move_tensor)(void* tensor) = nullptr;  // THPVariable_Wrap(at::TensorBase&&)
// Where they are missing, `handle_of_tensor` and `tensor_of_handle` of the settings do the same through Python.
PyObject* (*wrap_tensor)(const void* tensor) = nullptr;                           // THPVariable_Wrap(const at::TensorBase&)
bool (*load_tensor)(void* tensor, PyObject* object, bool may_convert) = nullptr;  // pybind11's type_caster<at::Tensor>::load
int (*new_undefined_handle)(void** handle) = nullptr;
int (*delete_handle)(void* handle) = nullptr;
int (*copy_handle)(void* handle, void** copy) = nullptr;

struct DlpackApi {
  uint32_t major, minor;
  void* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object, DlTensor* out);
  void* current_stream;
};

template <typename F>
void find(void* library, void* other, const char* name, F& function) {
  void* found = dlsym(library, name);
  if (!found && other) found = dlsym(other, name);
  function = reinterpret_cast<F>(found);
}

}  // namespace

PyObject* initialise(PyObject*, PyObject* settings) {
  if (torch_objects.framework) Py_RETURN_NONE;
  Torch made;
  auto get = [&](const char* name) -> PyObject* {
    PyObject* object = PyDict_GetItemString(settings, name);
    if (!object) PyErr_Format(PyExc_KeyError, "%s", name);
    Py_XINCREF(object);
    return object;
  };
#define LITZ_GET(field, type) \
  if (!(made.field = reinterpret_cast<type*>(get(#field)))) return nullptr;
  LITZ_GET(tensor_type, PyTypeObject)
  LITZ_GET(parameter_type, PyTypeObject)
  LITZ_GET(node_type, PyTypeObject)
  LITZ_GET(device_type, PyTypeObject)
  LITZ_GET(dtype_codes, PyObject)
  LITZ_GET(memory_format_codes, PyObject)
  LITZ_GET(layout_names, PyObject)
  LITZ_GET(dtypes, PyObject)
  LITZ_GET(memory_formats, PyObject)
  LITZ_GET(layouts, PyObject)
  LITZ_GET(resolve_op, PyObject)
  LITZ_GET(is_any_autocast_enabled, PyObject)
  LITZ_GET(autocast_suspend, PyObject)
  LITZ_GET(autocast_restore, PyObject)
  LITZ_GET(set_eval_frame, PyObject)
  LITZ_GET(keep_constant, PyObject)
  LITZ_GET(handle_of_tensor, PyObject)
  LITZ_GET(tensor_of_handle, PyObject)
#undef LITZ_GET
  Ref capsule(get("dlpack_api")), cpu(get("libtorch_cpu")), python(get("libtorch_python"));
  if (!capsule || !cpu || !python) return nullptr;
  auto* api = static_cast<DlpackApi*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (!api) return nullptr;
  if (api->major != 1)
    return PyErr_Format(PyExc_ImportError, "torch speaks version %u of the DLPack exchange interface, litz needs 1", api->major);
  read_tensor = api->tensor_from_object;
  const char* cpu_path = PyUnicode_AsUTF8AndSize(cpu.get(), nullptr);
  const char* python_path = PyUnicode_AsUTF8AndSize(python.get(), nullptr);
  if (!cpu_path || !python_path) return nullptr;
  void* cpu_library = dlopen(cpu_path, RTLD_NOLOAD | RTLD_NOW);
  void* python_library = dlopen(python_path, RTLD_NOLOAD | RTLD_NOW);
  if (!cpu_library || !python_library)
    return PyErr_Format(PyExc_ImportError, "%s is not loaded in this process", cpu_library ? python_path : cpu_path);
  find(python_library, cpu_library, "torch_tensor_from_pyobject", tensor_from_pyobject);
  find(python_library, cpu_library, "torch_tensor_to_pyobject", tensor_to_pyobject);
  find(python_library, nullptr, "_Z16THPVariable_WrapON2at10TensorBaseE", move_tensor);
  if (!tensor_to_pyobject) {
    find(python_library, nullptr, "_Z16THPVariable_WrapRKN2at10TensorBaseE", wrap_tensor);
    find(python_library, nullptr, "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb", load_tensor);
    find(cpu_library, nullptr, "aoti_torch_new_uninitialized_tensor", new_undefined_handle);
    if (!new_undefined_handle) load_tensor = nullptr;
  }
  find(cpu_library, nullptr, "aoti_torch_delete_tensor_object", delete_handle);
  find(cpu_library, nullptr, "aoti_torch_new_tensor_handle", copy_handle);
  if (const int status = litz_framework_create(cpu_path, &host_functions(), &made.framework)) return raise_status(status);
  torch_objects = made;
  Py_RETURN_NONE;
}

int handle_of(PyObject* tensor, void** handle) {
  *handle = nullptr;
  if (tensor_from_pyobject) {
    if (tensor_from_pyobject(tensor, handle) == 0) return 0;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "torch gave no handle for a tensor");
    return -1;
  }
  if (load_tensor) {
    if (new_undefined_handle(handle) == 0 && load_tensor(*handle, tensor, false)) return 0;
    if (*handle) delete_handle(*handle);
    *handle = nullptr;
    PyErr_Format(PyExc_TypeError, "found %R, expected a tensor", Py_TYPE(tensor));
    return -1;
  }
  Ref capsule(PyObject_CallFunctionObjArgs(torch_objects.handle_of_tensor, tensor, nullptr));
  if (!capsule) return -1;
  *handle = PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get()));
  return *handle ? 0 : -1;
}

PyObject* tensor_of(void* handle) {
  if (tensor_to_pyobject) {
    void* object = nullptr;
    if (tensor_to_pyobject(handle, nullptr, &object) == 0) return static_cast<PyObject*>(object);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "torch gave no tensor for a handle");
    return nullptr;
  }
  if (wrap_tensor) return wrap_tensor(handle);
  Ref capsule(PyCapsule_New(handle, nullptr, nullptr));
  return capsule ? PyObject_CallFunctionObjArgs(torch_objects.tensor_of_handle, capsule.get(), nullptr) : nullptr;
}

PyObject* take_tensor(void* handle) {
  PyObject* object = move_tensor ? move_tensor(handle) : tensor_of(handle);
  delete_handle(handle);
  return object;
}

void release_handle(void* handle) { delete_handle(handle); }

}  // namespace litz_ext
