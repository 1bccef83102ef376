// PEP 523's co_extra: one index of the interpreter, requested at the first use.
#include "frontend/cpython/code_extra.h"

#if PY_VERSION_HEX >= 0x030C0000
#define MD_REQUEST_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define MD_GET_EXTRA PyUnstable_Code_GetExtra
#define MD_SET_EXTRA PyUnstable_Code_SetExtra
#else
#define MD_REQUEST_INDEX _PyEval_RequestCodeExtraIndex
#define MD_GET_EXTRA _PyCode_GetExtra
#define MD_SET_EXTRA _PyCode_SetExtra
#endif

namespace md {
namespace {
// Set once, with the GIL held, by the first set_code_extra.
Py_ssize_t extra_index = -1;
}  // namespace

void* code_extra(PyCodeObject* code) {
  void* value = nullptr;
  if (extra_index >= 0) MD_GET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, &value);
  return value;
}

void set_code_extra(PyCodeObject* code, void* value, freefunc release) {
  if (extra_index < 0) extra_index = MD_REQUEST_INDEX(release);
  if (extra_index < 0) {
    PyErr_SetString(PyExc_RuntimeError,
                    "minidynamo: no slot left on code objects (co_extra is used up by other tools)");
    throw PythonError{};
  }
  if (MD_SET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, value) < 0) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // CPython does not always say so
    throw PythonError{};
  }
}

}  // namespace md
