// Objects as UTF-8.
#include "frontend/cpython/object_text.h"

#include "frontend/cpython/py_ref.h"

namespace md {

std::string text_of(PyObject* o) {
  PyRef s = PyUnicode_Check(o) ? PyRef::borrow(o) : PyRef::steal(PyObject_Str(o));
  Py_ssize_t n = 0;
  const char* text = s ? PyUnicode_AsUTF8AndSize(s.get(), &n) : nullptr;
  if (!text) {
    clear_answer();
    return "<unprintable>";
  }
  return std::string(text, static_cast<std::size_t>(n));
}

std::string repr_of(PyObject* o) {
  PyRef r = PyRef::steal(PyObject_Repr(o));
  if (!r) {
    clear_answer();
    return std::string("<") + Py_TYPE(o)->tp_name + " object>";
  }
  return text_of(r.get());
}

}  // namespace md
