// Looks up polyfills in the tables of minidynamo.polyfills by function, code object, or type and name.
#include "frontend/trace/polyfills.h"

#include <atomic>
#include <cstring>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_modules.h"

namespace md {

static const char* module_name(PyObject* globals) {
  PyObject* name = PyDict_Check(globals) ? find_item(globals, "__name__") : nullptr;
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) clear_answer();
  return text ? text : "";
}

bool in_polyfills(PyObject* globals) { return std::strncmp(module_name(globals), "minidynamo.polyfills.", 21) == 0; }

bool is_fact(PyObject* function) {
  return PyFunction_Check(function) && is_facts_module(module_name(PyFunction_GET_GLOBALS(function)));
}

bool is_facts_module(std::string_view name) {
  return name.starts_with("minidynamo.polyfills.") && name.ends_with("facts");
}

PyObject* numpy_row(const char* table, PyObject* key) {
  // The tables read attributes of NumPy, which the program may be importing just now, as an outer frame the tables.
  if (is_loading("numpy") || is_loading("minidynamo.polyfills.numpy")) return nullptr;
  PyRef module = checked(import_module("minidynamo.polyfills.numpy"));
  PyRef rows = checked(PyObject_GetAttrString(module.get(), table));
  PyObject* row = PyDict_GetItemWithError(rows.get(), key);  // the module's table keeps it alive
  if (!row && PyErr_Occurred()) throw PythonError{};
  return row;
}

// It only grows. Whoever comes first loads it.
static PyObject* library_table() {
  static std::atomic<PyObject*> table;
  if (!table.load()) {
    PyRef module = checked(import_module("minidynamo.polyfills.library"));
    PyObject* none = nullptr;
    PyRef loaded = checked(PyObject_GetAttrString(module.get(), "TABLE"));
    if (table.compare_exchange_strong(none, loaded.get())) (void)loaded.release();
  }
  return table.load();
}

void load_polyfills() { library_table(); }

void take_up_polyfills(const char* module) {
  PyRef library = checked(import_module("minidynamo.polyfills.library"));
  checked(PyObject_CallMethod(library.get(), "take_up", "s", module));
}

static PyObject* table_row(PyObject* key) {
  PyObject* row = PyDict_GetItemWithError(library_table(), key);
  if (!row && PyErr_Occurred()) throw PythonError{};
  return row;
}

// Keys are hashed by their address, or a type and the name of its class method.
PyObject* library_row(PyObject* callable) {
  PyRef of_class;
  PyObject* key = callable;
  if (PyCFunction_Check(callable)) {
    PyObject* owner = PyCFunction_GET_SELF(callable);
    if (owner && PyType_Check(owner)) {
      const char* name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
      of_class = checked(Py_BuildValue("(Os)", owner, name));
      key = of_class.get();
    } else if (owner && !PyModule_Check(owner)) {
      return nullptr;
    }
  } else if (PyType_Check(callable)) {
    if (Py_TYPE(callable)->tp_hash != PyBaseObject_Type.tp_hash) return nullptr;
  } else if (!PyFunction_Check(callable)) {
    return nullptr;
  }
  return table_row(key);
}

PyObject* library_method(PyTypeObject* type, PyObject* name) {
  return table_row(checked(PyTuple_Pack(2, type, name)).get());
}

// By address: code objects that look alike are equal.
PyObject* code_row(PyObject* code) {
  PyObject* row = table_row(checked(PyLong_FromVoidPtr(code)).get());
  return row;
}

}  // namespace md
