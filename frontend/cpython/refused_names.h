// Descriptors that stand for no attribute: who asks for one gets an AttributeError.
#pragma once

#include <Python.h>

namespace md {

// Their type; null until there is one.
inline PyTypeObject* refused_name_type = nullptr;

inline bool is_refused_name(PyObject* found) { return found && Py_TYPE(found) == refused_name_type; }

}  // namespace md
