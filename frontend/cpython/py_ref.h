// Owning reference to a Python object, and the one boundary where a CPython failure becomes a C++ exception.
#pragma once

#include <Python.h>

#include <utility>

#include "frontend/cpython/asynchronous_exception.h"

namespace md {

class PyRef {
 public:
  PyRef() = default;
  static PyRef steal(PyObject* p) {
    PyRef r;
    r.p_ = p;
    return r;
  }
  static PyRef borrow(PyObject* p) {
    Py_XINCREF(p);
    return steal(p);
  }
  PyRef(const PyRef& o) : p_(o.p_) { Py_XINCREF(p_); }
  PyRef(PyRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  PyRef& operator=(PyRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// A Python exception is set; catch at the boundary to Python and return NULL.
struct PythonError {};

// New reference or throw.
inline PyRef checked(PyObject* p) {
  if (!p) throw PythonError{};
  return PyRef::steal(p);
}
// CPython int results never become bool without this.
inline bool checked(int r) {
  if (r < 0) throw PythonError{};
  return r != 0;
}

// Clears an exception that was an answer ("no attribute of that name"). Lack of memory answers nothing, nor does what
// another thread or a signal handler raised in the code that was asked: they are thrown on.
inline void clear_answer() {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || asynchronous_is_set()) throw PythonError{};
  PyErr_Clear();
}
// Borrowed; null: there is nothing at this text. PyDict_GetItemString says that of lack of memory as well.
inline PyObject* find_item(PyObject* dict, const char* key) {
  PyRef text = checked(PyUnicode_FromString(key));
  PyObject* found = PyDict_GetItemWithError(dict, text.get());
  if (!found) clear_answer();
  return found;
}
inline bool has_attribute(PyObject* o, const char* name) {
  const PyRef found = PyRef::steal(PyObject_GetAttrString(o, name));
  if (!found) clear_answer();
  return static_cast<bool>(found);
}
inline bool has_attribute(PyObject* o, PyObject* name) {
  const PyRef found = PyRef::steal(PyObject_GetAttr(o, name));
  if (!found) clear_answer();
  return static_cast<bool>(found);
}
// A name as attributes are looked up by it.
inline PyRef interned(const char* name) { return checked(PyUnicode_InternFromString(name)); }
// A str's text, as long as it lives.
inline const char* utf8_of(PyObject* str) {
  const char* text = PyUnicode_AsUTF8(str);
  if (!text) throw PythonError{};
  return text;
}

}  // namespace md
