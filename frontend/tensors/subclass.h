// Tensor subclasses and objects with __torch_function__: who answers a call, and what type the result has.
#pragma once

#include <initializer_list>
#include <string_view>

#include "frontend/tensors/op_function.h"

namespace md {

// If a mode is active or an argument overrides __torch_function__, its answer; null if nobody does. Throws PythonError.
PyRef try_torch_function(PyObject* callable, const PassedArgs& call);
// The same for a special method, "__len__", or another attribute of Tensor that is called.
PyRef ask_overrides(const char* name, std::initializer_list<PyObject*> operands);
// Without an override, results of a call on a subclass are of that subclass.
PyRef keep_subclass(PyRef result, const PassedArgs& call);
// True if `o` is no plain value and its type has a __torch_function__, which may be Tensor's own.
bool overrides_torch_function(PyObject* o);

// An instance of nn.Parameter: apart from its class and its text a plain tensor.
bool is_parameter(PyObject* o);

// A view of the same TensorImpl with another Python type; `type` is Tensor or a subclass.
PyRef as_subclass(PyObject* tensor, PyTypeObject* type);

// An op function that overrides are asked about.
bool op_function_asks(PyObject* o);

// Attributes whose values are handed on as they are, also where results become instances of a subclass.
inline constexpr std::string_view kUnconverted[] = {"grad", "_grad", "_base"};
bool is_unconverted(PyObject* function);  // the __get__ of one of them

// What a class has under that name: Tensor's own (bound: of which class), or what stands for no override.
bool is_default_torch_function(PyObject* on_class);
bool is_disabled_torch_function(PyObject* on_class);
PyTypeObject* class_of_default_torch_function(PyObject* bound);  // null: another object

int init_subclass(PyObject* module);

}  // namespace md
