// Asking a threading.local.
#include "frontend/cpython/thread_local.h"

#include <string_view>

#include "frontend/cpython/type_dict.h"

namespace md {

bool is_thread_local(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  const PyTypeObject* base = type;
  while (base && !is_c_type(const_cast<PyTypeObject*>(base))) base = base->tp_base;
  // An __init__ runs again in each thread.
  return base && std::string_view(base->tp_name) == "_thread._local" && type->tp_getattro == base->tp_getattro &&
         type->tp_setattro == base->tp_setattro && type->tp_init == base->tp_init;
}

PyObject* thread_attributes(PyObject* o) {
  const PyRef held = PyRef::steal(PyObject_GetAttrString(o, "__dict__"));
  if (!held) clear_answer();
  return held.get();
}

}  // namespace md
