#include "frontend/polyfills.h"

#include <cstring>

namespace md {

static const char* module_name(PyObject* globals) {
  PyObject* name = PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : nullptr;
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

bool in_polyfills(PyObject* globals) { return std::strncmp(module_name(globals), "minidynamo.polyfills.", 21) == 0; }

bool is_fact(PyObject* function) {
  return PyFunction_Check(function) &&
         std::strcmp(module_name(PyFunction_GET_GLOBALS(function)), "minidynamo.polyfills.numpy.facts") == 0;
}

PyObject* numpy_row(const char* table, PyObject* key) {
  PyRef module = checked(PyImport_ImportModule("minidynamo.polyfills.numpy"));
  PyRef rows = checked(PyObject_GetAttrString(module.get(), table));
  PyObject* row = PyDict_GetItemWithError(rows.get(), key);  // the module's table keeps it alive
  if (!row && PyErr_Occurred()) throw PythonError{};
  return row;
}

}  // namespace md
