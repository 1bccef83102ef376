#include "frontend/values/let_go.h"

#include "frontend/breaks.h"

namespace md {

void let_go(const ValueRef& old) {
  if (!old || !old->real) return;
  PyTypeObject* type = Py_TYPE(old->real.get());
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_finalize && !PyType_Check(old->real.get()))
    unmodelled(std::string("UserDefinedObjectVariable(") + type_name(type) + ")",
               "letting go of an object with __del__");
}

}  // namespace md
