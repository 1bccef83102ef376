// Asking a threading.local.
#include "frontend/cpython/thread_local.h"

#include <string_view>

#include "frontend/cpython/type_dict.h"

namespace md {

bool is_thread_local(PyObject* o) {
  return is_c_type(Py_TYPE(o)) && std::string_view(Py_TYPE(o)->tp_name) == "_thread._local";
}

PyObject* thread_attributes(PyObject* o) {
  const PyRef held = PyRef::steal(PyObject_GetAttrString(o, "__dict__"));
  if (!held) clear_answer();
  return held.get();
}

}  // namespace md
