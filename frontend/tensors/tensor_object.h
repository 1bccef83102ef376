// The Python face of tensors: raw C-API heap types. Only frontend/tensors/ knows their layout.
#pragma once

#include "frontend/cpython/py_ref.h"
#include "ir/core/error.h"
#include "ir/graph/arg.h"
#include "ir/graph/op_table.h"

namespace md {

struct TensorObject {
  PyObject_HEAD
  TensorImpl* impl;  // owned reference
  PyObject* dict;    // lazy; null for most tensors
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_type;  // minidynamo.Tensor
inline bool is_tensor_exact(PyObject* o) { return Py_TYPE(o) == tensor_type; }
bool is_tensor(PyObject* o);  // subclasses too
inline TensorImpl* tensor_impl(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->impl; }
// New Python tensor around `t` (exact type). Throws PythonError.
PyRef wrap_tensor(TensorRef t);
// The collector looks at it from here on: something it holds may hold it.
void track_tensor(PyObject* tensor);

// --- Other types of the mirror ---------------------------------------------------------------------------------
// `float`, `int` and `bool` name dtypes, too.
bool dtype_of_python_type(PyObject* o, DType& out);
PyObject* dtype_object(DType t);         // borrowed; minidynamo.float32, repr "torch.float32"
bool as_dtype(PyObject* o, DType& out);  // false if o is not one of ours
PyRef size_object(const DimVec& sizes);  // minidynamo.Size, a tuple subclass; repr "torch.Size([2, 3])"
bool is_size_type(PyTypeObject* t);
PyRef device_object(Device d);
bool is_device(PyObject* o);
PyObject* memory_format_object(MemoryFormat f);         // borrowed; minidynamo.channels_last, ...
bool as_memory_format(PyObject* o, MemoryFormat& out);  // false if o is none
// Where this thread's functions that make tensors make them: torch.set_default_device(), `with torch.device(...)`.
inline Device default_device() { return thread_modes.default_device; }
void set_default_device(Device d);  // throws OpError(Runtime) where no tensors can be
// Gives such a call of an op the default device if it names none.
void place_by_default(const Op& op, std::span<Arg> bound);

// --- Conversions between Python values and op arguments ---------------------------------------------------------
Arg to_arg(PyObject* o);       // throws PythonError (TypeError naming the type) for what no op takes
PyRef from_arg(const Arg& a);  // tensors are wrapped, lists become lists (tuples where marked)

// --- Op functions -----------------------------------------------------------------------------------------------
// minidynamo.<name> and Tensor.<name>: one C type, vectorcall, repr "<built-in method add of type object at 0x..>".
struct OpFunctionObject;
extern PyTypeObject* op_function_type;
bool is_op_function(PyObject* o);
const char* op_function_name(PyObject* o);        // public op name, or a Python-level one such as "tensor"
bool op_function_is_method(PyObject* o);          // the unbound method descriptor Tensor.add
bool tensor_has_method(const std::string& name);  // "sum", "add_", "view"
// Tensor.<name> stands for an op of the table (add, add_); false for methods written by hand (numpy, set_, equal).
bool tensor_method_is_op(const std::string& name);
bool is_false_of_tensors(const std::string& name);  // "is_cuda", "is_sparse", ...
bool tensor_has_attr(const std::string& name);      // "shape", "T", "dtype", "grad", ...

// Raises the Python exception an OpError stands for.
void raise_op_error(const OpError& e);
// guarded(f), which turns C++ exceptions into Python ones, is in boundary.h.

int init_tensors(PyObject* module);  // adds types and functions; -1 with an exception set

}  // namespace md

#include "frontend/tensors/boundary.h"
