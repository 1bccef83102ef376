// Names of torch.Tensor that are not here: attributes that say so when they are asked for.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Types and functions of the extension; -1 with an exception set.
int init_absent_names(PyObject* module);
bool is_absent_name(PyObject* o);
// `name` of a tensor as plain Python would refuse it: sets AttributeError.
void set_absent(PyObject* name);

}  // namespace md
