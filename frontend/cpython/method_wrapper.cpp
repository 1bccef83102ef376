// The type is taken from an object of it.
#include "frontend/cpython/method_wrapper.h"

#include "frontend/cpython/made_once.h"

namespace md {

bool is_method_wrapper(PyObject* o) {
  PyTypeObject* const type = made_once([] {
    const PyRef bound = checked(PyObject_GetAttrString(Py_None, "__bool__"));
    return Py_TYPE(bound.get());
  });
  return Py_TYPE(o) == type;
}

}  // namespace md
