// Takes the type from one such object, type((1).__add__), since no header declares it.
#include "frontend/cpython/method_wrapper.h"

#include "frontend/cpython/made_once.h"

namespace md {

PyTypeObject* method_wrapper_type() {
  return made_once([] {
    const PyRef bound = checked(PyObject_GetAttrString(Py_None, "__bool__"));
    return Py_TYPE(bound.get());
  });
}

bool is_method_wrapper(PyObject* o) { return Py_TYPE(o) == method_wrapper_type(); }

}  // namespace md
