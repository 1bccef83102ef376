#include "frontend/graph_break_init.h"

#include "frontend/graph_break.h"
#include "frontend/py_ref.h"

namespace md {
namespace {

PyRef text(std::string_view s) {
  return checked(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

PyRef list_of(std::string_view separated) {
  PyRef list = checked(PyList_New(0));
  for (std::string_view item : split_list(separated)) checked(PyList_Append(list.get(), text(item).get()));
  return list;
}

const char* class_name(BreakClass c) {
  switch (c) {
    case BreakClass::Fundamental:
      return "fundamental";
    case BreakClass::Supportable:
      return "supportable";
    case BreakClass::UserError:
      return "user_error";
    case BreakClass::Internal:
      return "internal";
  }
  return "";
}

PyRef row_dict(const BreakRow& row) {
  PyRef dict = checked(PyDict_New());
  const auto put = [&](const char* key, PyRef value) { checked(PyDict_SetItemString(dict.get(), key, value.get())); };
  put("id", text(row.id));
  put("code", text(break_code_name(row.code)));
  put("type", text(row.type));
  put("context", text(row.context));
  put("explanation", text(row.explanation));
  put("hints", list_of(row.hints));
  put("args", list_of(row.args));
  put("area", text(row.area));
  put("class", text(class_name(row.break_class)));
  return dict;
}

PyObject* rows(PyObject*, PyObject*) {
  try {
    PyRef list = checked(PyList_New(0));
    for (const BreakRow& row : break_rows()) checked(PyList_Append(list.get(), row_dict(row).get()));
    return list.release();
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyMethodDef kMethods[] = {
    {"rows", rows, METH_NOARGS, "One dict per row of the graph-break table; templates hold {0}, {1}, ... for args."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int init_registry(PyObject* module) {
  try {
    PyRef sub = checked(PyModule_New("minidynamo._C._registry"));
    checked(PyModule_AddFunctions(sub.get(), kMethods));
    checked(PyModule_AddObjectRef(module, "_registry", sub.get()));
    return 0;
  } catch (const PythonError&) {
    return -1;
  }
}

}  // namespace md
