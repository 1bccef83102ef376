// Exceptions that have nothing to do with the code they are raised in: a signal handler's, or one that another thread
// sets (PyThreadState_SetAsyncExc).
#pragma once

#include <Python.h>

namespace md {

// Whether a traceback ends at an instruction that raises nothing of itself: the first one of a function, a jump
// backward. CPython looks there for signals and for exceptions set by other threads. (It also looks after calls, where
// nothing tells such an exception from one of the called.)
bool is_asynchronous(PyObject* traceback) noexcept;

// The same of the exception that is set; it stays set.
bool asynchronous_is_set() noexcept;

}  // namespace md
