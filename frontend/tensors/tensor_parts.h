// The parts the Tensor type is put together from, one file each.
#pragma once

#include <optional>
#include <span>

#include "frontend/tensors/op_function.h"

namespace md {

// tensor_operators.cpp: slots of the number and comparison protocols.
std::span<const PyType_Slot> operator_slots();
int init_operators(PyObject* module);
// tensor_index.cpp
Py_ssize_t tensor_length(PyObject* self);
PyObject* tensor_subscript(PyObject* self, PyObject* key);
int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* tensor_iter(PyObject* self);
int tensor_contains(PyObject* self, PyObject* value);
// tensor_attributes.cpp
extern PyGetSetDef tensor_getset[];
// tensor_type.cpp
PyObject* tensor_get_dict(PyObject* self, void* context);
int tensor_set_dict(PyObject* self, PyObject* value, void* context);
// tensor_methods.cpp, scalars.cpp, numpy_bridge.cpp, creation.cpp, namespace_functions.cpp
std::span<const NativeRow> tensor_native_methods();
std::span<const NativeRow> scalar_methods();
std::span<const NativeRow> metadata_methods();
int set_tensor_data(PyObject* self, PyObject* value, void* context);  // x.data = value
std::span<const NativeRow> numpy_methods();
std::span<const NativeRow> numpy_functions();
std::span<const NativeRow> dlpack_methods();
std::span<const NativeRow> dlpack_functions();
std::span<const NativeRow> buffer_functions();  // frombuffer, asarray
std::span<const NativeRow> saved_tensor_functions();
int init_dlpack();
// buffer.cpp: PEP 3118
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);
const char* buffer_format(DType t);  // null: none
std::span<const NativeRow> creation_functions();
std::span<const NativeRow> namespace_functions();
std::span<const NativeRow> transform_functions();  // transforms.cpp: levels of vmap and grad
std::span<const NativeRow> element_questions();    // equal, allclose: functions and methods
// tensor_format.cpp
PyObject* tensor_repr(PyObject* self);
std::span<const NativeRow> format_functions();
std::span<const NativeRow> format_methods();

// scalars.cpp: one element as a Python bool, int or float.
PyRef element(DType dtype, const void* at);
// Throws what a tensor answers that is asked for elements it does not have.
void expect_elements(const TensorImpl& t, const char* question);
PyRef item(const TensorImpl& t);  // throws OpError(Runtime) unless there is exactly one element
// creation.cpp: Tensor(...), the legacy constructor.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
// New tensor with the values of nested sequences, numbers, arrays or tensors. `dtype` null: inferred from the values.
TensorRef tensor_from_data(PyObject* data, const DType* dtype);
TensorRef moved(const TensorRef& t, std::optional<Device> d);  // itself if it is there already, or no device is named
// numpy_bridge.cpp: shares memory; null without an exception if `o` is no ndarray. Where the tensor reaches the user
// (not a copy or an operand that is only read), a read-only array gets a warning.
enum class ReadOnly { Accept, Warn };
TensorRef tensor_from_array(PyObject* o, ReadOnly read_only = ReadOnly::Accept);
TensorRef tensor_over_buffer(PyObject* o, ReadOnly read_only);  // of any object with a buffer
PyRef array_from_tensor(const TensorRef& t);
bool is_array(PyObject* o);

// x.requires_grad = wanted. Throws OpError(Runtime) for dtypes that have no gradients.
void set_requires_grad(TensorImpl& x, bool wanted);
// buffer.cpp: what shares memory with `o`, a tensor, an array, an object of DLPack or of the buffer protocol or one
// that makes an array of itself; null: its values can only be copied.
PyRef sharing(PyObject* o);
bool has_array_interface(PyObject* o);  // __cuda_array_interface__: its memory is a device's

// Same storage, sizes and strides in a new TensorImpl.
TensorRef alias(const TensorRef& t);
// Calls an op of the table by its unique name with arguments in schema order; the rest takes its default.
Arg call_table(std::string_view name, std::initializer_list<Arg> args);

}  // namespace md
