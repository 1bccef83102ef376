// Descriptors that stand for no attribute: who asks for one gets an AttributeError.
#pragma once

#include <Python.h>

namespace md {

// Their type; null until there is one.
inline PyTypeObject* refused_name_type = nullptr;

// The str that the errors hold, which is put together when it is read; null until there is one.
inline PyTypeObject* absent_text_type = nullptr;

inline bool is_refused_name(PyObject* found) { return found && Py_TYPE(found) == refused_name_type; }

}  // namespace md
