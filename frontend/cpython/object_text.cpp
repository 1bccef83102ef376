// Objects as UTF-8.
#include "frontend/cpython/object_text.h"

#include "frontend/cpython/py_ref.h"

namespace md {

std::string text_of(PyObject* o) {
  PyRef s = PyUnicode_Check(o) ? PyRef::borrow(o) : PyRef::steal(PyObject_Str(o));
  Py_ssize_t n = 0;
  const char* text = s ? PyUnicode_AsUTF8AndSize(s.get(), &n) : nullptr;
  if (text) return std::string(text, static_cast<std::size_t>(n));
  clear_answer();
  // Halves of pairs, as in names of files that are no UTF-8, are spelled out.
  const PyRef spelled = PyRef::steal(s ? PyUnicode_AsEncodedString(s.get(), "utf-8", "backslashreplace") : nullptr);
  if (!spelled) {
    clear_answer();
    return "<unprintable>";
  }
  return std::string(PyBytes_AS_STRING(spelled.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(spelled.get())));
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
