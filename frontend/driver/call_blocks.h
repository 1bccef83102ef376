// Parts of a program in which a thread's calls are compiled, or are not: `with _dynamo.optimize(...)`, `disable()`.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// The frames this thread enters from here on are compiled under the options of `compiled`, a compiled function, or, if
// it is None, run as plain Python. Blocks end in the opposite order.
void begin_block(PyObject* compiled);
// Throws PythonError (RuntimeError) where no block is open.
void end_block();

}  // namespace md
