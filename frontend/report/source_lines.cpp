// Lines from linecache, kept per file for the life of the object.
#include "frontend/report/source_lines.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_text.h"
#include "frontend/report/events.h"

namespace md {

// A list; null where there is none.
PyObject* SourceLines::lines_of(PyObject* file, PyObject* globals) {
  const auto [at, fresh] = known_.try_emplace(file);
  File& f = at->second;
  if (!fresh) return f.lines.get();
  f.name = PyRef::borrow(file);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyRef module = PyRef::steal(import_module("minidynamo._dynamo.source_text"))) {
    PyRef lines = PyRef::steal(PyObject_CallMethod(module.get(), "lines", "OO", file, globals ? globals : Py_None));
    if (lines && PyList_Check(lines.get())) f.lines = std::move(lines);
  }
  if (PyErr_Occurred()) drop_exception();
  PyErr_Restore(type, value, traceback);
  return f.lines.get();
}

std::string SourceLines::raw(PyObject* file, int line, PyObject* globals) {
  PyObject* const lines = lines_of(file, globals);
  if (!lines || line < 1 || line > PyList_GET_SIZE(lines)) return {};
  PyObject* const text = PyList_GET_ITEM(lines, line - 1);
  std::string out = PyUnicode_Check(text) ? text_of(text) : "";
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
  return out;
}

std::string SourceLines::stripped(PyObject* file, int line, PyObject* globals) {
  const std::string s = raw(file, line, globals);
  const auto first = s.find_first_not_of(" \t\f");
  if (first == std::string::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\f") - first + 1);
}

}  // namespace md
