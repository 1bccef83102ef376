// Names of torch.Tensor that are not here: attributes that say so when they are asked for.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Types and functions of the extension; -1 with an exception set.
int init_absent_names(PyObject* module);
// The str that the errors hold, which is put together when it is read; null until there is one.
extern PyTypeObject* absent_text_type;
// `name` of a tensor as plain Python would refuse it: sets AttributeError.
void set_absent(PyObject* name);

}  // namespace md
