// threading.local objects: what each thread has stored there.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Or of a class below it that runs no code of the program for a thread that is new to it.
bool is_thread_local(PyObject* o);
// The dictionary of the calling thread, which the thread keeps; borrowed.
PyObject* thread_attributes(PyObject* o);

}  // namespace md
