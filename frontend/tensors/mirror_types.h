// The small immutable types of the mirror beside Tensor: dtype, Size, device, layout, memory_format.
#pragma once

#include <optional>

#include "frontend/tensors/tensor_object.h"

namespace md {

extern PyTypeObject* dtype_type;
extern PyTypeObject* size_type;
extern PyTypeObject* device_type;
extern PyTypeObject* layout_type;
extern PyTypeObject* memory_format_type;

int init_dtypes(PyObject* module);
int init_size(PyObject* module);
int init_device(PyObject* module);
int init_memory_formats(PyObject* module);

// A dtype tensors can have; throws TypeError naming it otherwise, or if `o` is no dtype.
DType tensor_dtype(PyObject* o);
Device device_value(PyObject* o);
Device named_device(PyObject* o);   // of a string or device object, whatever this build holds
Device tensor_device(PyObject* o);  // likewise; throws as available() does for what tensors cannot be held on
MemoryFormat named_memory_format(PyObject* o, const char* function);  // throws TypeError for other objects
std::optional<Device> device_argument(PyObject* o_or_null);           // None and null: nothing
std::optional<Device> device_for_new(PyObject* o_or_null);            // else the default device, if that is not the CPU

// Names in CPython's error messages (tp_name) are set to the mirrored ones afterwards; __name__ and __module__ stay.
// Builds a heap type once and adds it to `module`; null with an exception set.
PyTypeObject* add_type(PyObject* module, PyType_Spec* spec, PyObject* bases = nullptr);

}  // namespace md
