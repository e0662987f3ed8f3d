#pragma once
// What the files of this extension share.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "litz/driver/c_api.h"

namespace litz_ext {

/// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      Py_XDECREF(object_);
      object_ = other.release();
    }
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

// ---- torch, as `initialise` (module.cpp) got it from litz/_torch.py; null before that
struct Torch {
  PyTypeObject* tensor_type = nullptr;
  PyTypeObject* parameter_type = nullptr;
  PyTypeObject* node_type = nullptr;        // torch.fx.Node
  PyObject* dtype_codes = nullptr;          // torch.dtype -> number
  PyObject* memory_format_codes = nullptr;  // torch.memory_format -> number
  PyObject* layout_names = nullptr;         // torch.layout -> "strided"
  PyObject* dtypes = nullptr;               // number -> torch.dtype
  PyObject* memory_formats = nullptr;       // number -> torch.memory_format
  PyObject* layouts = nullptr;              // "strided" -> torch.layout
  PyTypeObject* device_type = nullptr;      // torch.device
  PyObject* resolve_op = nullptr;           // (op, schema) -> (callable, positional count, keyword names, argument types)
  PyObject* is_any_autocast_enabled = nullptr;
  PyObject* autocast_suspend = nullptr;  // () -> int token
  PyObject* autocast_restore = nullptr;  // (token) -> None
  PyObject* set_eval_frame = nullptr;    // (Dynamo's callback for frames, or None) -> the one before
  PyObject* handle_of_tensor = nullptr;  // for torch without torch_tensor_from_pyobject: tensor -> capsule of an owned handle
  PyObject* tensor_of_handle = nullptr;  // capsule -> tensor; takes the handle's reference over or copies it, see torch_objects.cpp
  PyObject* keep_constant = nullptr;     // (list, tensor, dtype number, sizes, strides) -> number in the list, or -1
  litz_framework* framework = nullptr;
};
extern Torch torch_objects;

/// The DLPack function table of torch.Tensor, version 1: see torch/include/ATen/dlpack.h.
struct DlTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t* sizes;
  int64_t* strides;
  uint64_t byte_offset;
};
extern int (*read_tensor)(void* object, DlTensor* out);  // torch's dltensor_from_py_object_no_sync

// torch_objects.cpp
PyObject* initialise(PyObject* self, PyObject* settings);
/// New handle of a tensor object; 0, or -1 with an exception.
int handle_of(PyObject* tensor, void** handle);
/// New reference to the tensor object of a handle, which stays the caller's.
PyObject* tensor_of(void* handle);
/// The same, and the handle is given up.
PyObject* take_tensor(void* handle);
void release_handle(void* handle);
inline bool is_tensor(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == torch_objects.tensor_type || type == torch_objects.parameter_type || PyType_IsSubtype(type, torch_objects.tensor_type);
}

// host.cpp: torch.ops through CPython
const litz_host& host_functions();
/// How constants are computed while a graph compiles: (list of constants, litz._torch.keep_constant), which must stay alive.
litz_constant_host constant_host(PyObject* list_and_keeper);

// builder.cpp, call.cpp
PyObject* make_builder_type(PyObject* module);
PyObject* make_program_type(PyObject* module);
/// Takes the program over. `constants`: a tuple of tensors.
PyObject* wrap_program(litz_program* program, PyObject* constants);

/// Sets the exception for a litz_status; gives null.
PyObject* raise_status(int status);
extern PyObject* unsupported_error;  // litz._C.Unsupported
extern PyObject* user_error;         // litz._C.UserError

}  // namespace litz_ext
