#include "frontend/source_lines.h"

#include "frontend/events.h"
#include "frontend/import_module.h"
#include "frontend/values/constant.h"

namespace md {

std::string raw_source_line(const std::string& file, int line, PyObject* globals) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  std::string out;
  if (PyRef lines = PyRef::steal(import_module("minidynamo._dynamo.source_text"))) {
    PyRef text =
        PyRef::steal(PyObject_CallMethod(lines.get(), "line", "siO", file.c_str(), line, globals ? globals : Py_None));
    if (text) out = text_of(text.get());
  }
  if (PyErr_Occurred()) drop_exception();
  PyErr_Restore(type, value, traceback);
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
  return out;
}

std::string source_line(const std::string& file, int line, PyObject* globals) {
  std::string s = raw_source_line(file, line, globals);
  const auto first = s.find_first_not_of(" \t\f");
  if (first == std::string::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\f") - first + 1);
}

}  // namespace md
