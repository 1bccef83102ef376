// Numbers in tensors without dimensions that a call brings: known when its graph begins, so that branches and Python's
// own functions may ask for them.
#pragma once

#include "frontend/values/tensor.h"

namespace md {

// x.item() of such a tensor of int64 or float64, to which the trace has not written; null: only a run knows it.
ValueRef element_of_input(Tracer& t, TensorValue& x);

// _leave_elements_unknown(bool): whether this thread's traces leave them to the run, as graphs that are exported have
// to; what was so before.
PyObject* py_leave_elements_unknown(PyObject*, PyObject* on);

}  // namespace md
