/* litz._C: Python's way to the C API of liblitz. The limited API of Python 3.11, so that one build serves every later
 * one. */
#include <Python.h>

#include "litz/driver/c_api.h"

static PyObject* version(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 0) return PyErr_Format(PyExc_TypeError, "version takes no arguments, got %zd", count);
  return PyUnicode_FromString(litz_version());
}

static PyObject* compiler_version(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 0) return PyErr_Format(PyExc_TypeError, "compiler_version takes no arguments, got %zd", count);
  return PyUnicode_FromString(litz_compiler_version());
}

static PyObject* selftest_jit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 0) return PyErr_Format(PyExc_TypeError, "selftest_jit takes no arguments, got %zd", count);
  char message[4096];
  int failed;
  Py_BEGIN_ALLOW_THREADS failed = litz_selftest_jit(message, sizeof(message));
  Py_END_ALLOW_THREADS if (failed) return PyErr_Format(PyExc_RuntimeError, "%s", message);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"version", (PyCFunction)(void (*)(void))version, METH_FASTCALL, "The version of Litz, as in '0.1.0'."},
    {"compiler_version", (PyCFunction)(void (*)(void))compiler_version, METH_FASTCALL,
     "The C++ compiler inside, as in 'clang 19.1.7'."},
    {"selftest_jit", (PyCFunction)(void (*)(void))selftest_jit, METH_FASTCALL,
     "Compiles and runs a small kernel; raises RuntimeError with the reason when it is not right."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "litz._C", "The C API of liblitz.", 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&definition); }
