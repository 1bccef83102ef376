// Reads the struct of an exception, which runs nothing.
#include "frontend/cpython/exception_fields.h"

namespace md {

namespace {

PyObject* or_none(PyObject* o) { return o ? o : Py_None; }

}  // namespace

PyObject* exception_field(PyObject* o, std::string_view name) {
  if (!PyExceptionInstance_Check(o)) return nullptr;
  const auto* e = reinterpret_cast<PyBaseExceptionObject*>(o);
  if (name == "args") return e->args;
  if (name == "__cause__") return or_none(e->cause);
  if (name == "__context__") return or_none(e->context);
  return name == "__suppress_context__" ? (e->suppress_context ? Py_True : Py_False) : nullptr;
}

PyObject* exception_field(PyObject* o, PyObject* found) {
  const bool of_struct = Py_IS_TYPE(found, &PyGetSetDescr_Type) || Py_IS_TYPE(found, &PyMemberDescr_Type);
  if (!of_struct || PyDescr_TYPE(found) != reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) return nullptr;
  const char* const name = PyUnicode_AsUTF8(PyDescr_NAME(found));
  return name ? exception_field(o, std::string_view(name)) : nullptr;
}

}  // namespace md
