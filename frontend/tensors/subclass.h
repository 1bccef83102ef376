// Tensor subclasses and objects with __torch_function__: who answers a call, and what type the result has.
#pragma once

#include "frontend/tensors/op_function.h"

namespace md {

// If an argument overrides __torch_function__, its answer; null if nobody does. Throws PythonError.
PyRef try_torch_function(PyObject* callable, const PassedArgs& call);
// Without an override, results of a call on a subclass are of that subclass.
PyRef keep_subclass(PyRef result, const PassedArgs& call);
// True if `o` is no plain value and its type defines __torch_function__ (Tensor's own default does not count).
bool overrides_torch_function(PyObject* o);

// An instance of nn.Parameter: apart from its class and its text a plain tensor.
bool is_parameter(PyObject* o);

// A view of the same TensorImpl with another Python type; `type` is Tensor or a subclass.
PyRef as_subclass(PyObject* tensor, PyTypeObject* type);

int init_subclass(PyObject* module);

}  // namespace md
