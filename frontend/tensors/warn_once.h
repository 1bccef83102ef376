// Warnings about tensors that a process hears once.
#pragma once

#include <atomic>

#include "frontend/cpython/py_ref.h"

namespace md {

// A UserWarning unless `said` tells that it has been issued. Throws PythonError where the program's filters raise it.
inline void warn_once(std::atomic_flag& said, const char* text) {
  if (!said.test_and_set()) checked(PyErr_WarnEx(PyExc_UserWarning, text, 1));
}

}  // namespace md
