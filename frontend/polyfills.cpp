#include "frontend/polyfills.h"

#include <atomic>
#include <cstring>

#include "frontend/import_module.h"

namespace md {

static const char* module_name(PyObject* globals) {
  PyObject* name = PyDict_Check(globals) ? find_item(globals, "__name__") : nullptr;
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) clear_answer();
  return text ? text : "";
}

bool in_polyfills(PyObject* globals) { return std::strncmp(module_name(globals), "minidynamo.polyfills.", 21) == 0; }

bool is_fact(PyObject* function) {
  if (!PyFunction_Check(function)) return false;
  const char* module = module_name(PyFunction_GET_GLOBALS(function));
  return std::strcmp(module, "minidynamo.polyfills.numpy.facts") == 0 ||
         std::strcmp(module, "minidynamo.polyfills.facts") == 0;
}

// The program is in the middle of importing it; the tables read attributes that may not be there yet.
static bool is_numpy_loading() {
  PyObject* numpy = find_item(PyImport_GetModuleDict(), "numpy");
  PyRef spec = numpy ? PyRef::steal(PyObject_GetAttrString(numpy, "__spec__")) : PyRef();
  PyRef loading = spec ? PyRef::steal(PyObject_GetAttrString(spec.get(), "_initializing")) : PyRef();
  clear_answer();
  return loading && loading.get() == Py_True;
}

PyObject* numpy_row(const char* table, PyObject* key) {
  if (is_numpy_loading()) return nullptr;
  PyRef module = checked(import_module("minidynamo.polyfills.numpy"));
  PyRef rows = checked(PyObject_GetAttrString(module.get(), table));
  PyObject* row = PyDict_GetItemWithError(rows.get(), key);  // the module's table keeps it alive
  if (!row && PyErr_Occurred()) throw PythonError{};
  return row;
}

// The table never changes: whoever comes first loads it.
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
