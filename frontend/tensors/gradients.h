// Gradients as Python sees them: backward(), .grad, .grad_fn, hooks.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"

namespace md {

// Getters and setters of Tensor.grad, grad_fn, output_nr and _base.
PyObject* tensor_grad(PyObject* self, void* context);
// Borrowed, None where there is none: as long as nobody sets or adds.
PyObject* grad_object(const TensorImpl& t);
int set_tensor_grad(PyObject* self, PyObject* value, void* context);
PyObject* tensor_grad_fn(PyObject* self, void* context);
PyObject* tensor_output_nr(PyObject* self, void* context);
PyObject* tensor_base(PyObject* self, void* context);
std::span<const NativeRow> gradient_methods();
std::span<const NativeRow> gradient_functions();
std::span<const NativeRow> anomaly_functions();
int init_gradients(PyObject* module);  // the types of grad_fn and of saved tensors

}  // namespace md
