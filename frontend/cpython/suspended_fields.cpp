// Asks the getters of CPython, for where these objects keep things differs between its versions.
#include "frontend/cpython/suspended_fields.h"

#include "frontend/cpython/made_once.h"
#include "frontend/cpython/py_ref.h"

namespace md {

namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (std::string_view n : names)
    if (n == name) return true;
  return false;
}

bool tells(PyObject* o, std::string_view name) {
  const bool named = name == "__name__" || name == "__qualname__";
  if (PyGen_CheckExact(o))
    return named || is_one_of(name, {"gi_code", "gi_frame", "gi_running", "gi_suspended", "gi_yieldfrom"});
  if (PyCoro_CheckExact(o))
    return named || is_one_of(name, {"cr_code", "cr_frame", "cr_running", "cr_suspended", "cr_await"});
  if (PyAsyncGen_CheckExact(o))
    return named || is_one_of(name, {"ag_code", "ag_frame", "ag_running", "ag_suspended", "ag_await"});
  return PyFrame_Check(o) && is_one_of(name, {"f_code", "f_globals", "f_builtins", "f_lineno"});
}

// Line numbers are made anew each time they are asked for: one of each is kept.
PyObject* kept_number(PyObject* number) {
  PyObject* const all = made_once([] { return checked(PyDict_New()).release(); });
  return PyDict_SetDefault(all, number, number);
}

}  // namespace

PyObject* suspended_field(PyObject* o, std::string_view name) {
  if (!tells(o, name)) return nullptr;
  const PyRef held = PyRef::steal(PyObject_GetAttrString(o, std::string(name).c_str()));
  PyObject* const kept = held && PyLong_CheckExact(held.get()) ? kept_number(held.get()) : held.get();
  if (!kept) PyErr_Clear();
  return kept;
}

}  // namespace md
