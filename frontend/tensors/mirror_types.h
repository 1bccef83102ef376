// The small immutable types of the mirror beside Tensor: dtype, Size, device, layout.
#pragma once

#include "frontend/tensors/tensor_object.h"

namespace md {

extern PyTypeObject* dtype_type;
extern PyTypeObject* size_type;
extern PyTypeObject* device_type;
extern PyTypeObject* layout_type;

int init_dtypes(PyObject* module);
int init_size(PyObject* module);
int init_device(PyObject* module);

// A dtype tensors can have; throws TypeError naming it otherwise, or if `o` is no dtype.
DType tensor_dtype(PyObject* o);
const DeviceArg& device_value(PyObject* o);
// Accepts None, "cpu" and device objects; throws RuntimeError for a device this build cannot hold tensors on.
void check_tensor_device(PyObject* o_or_null);

// Names in CPython's error messages (tp_name) are set to the mirrored ones afterwards; __name__ and __module__ stay.
// Builds a heap type once and adds it to `module`; null with an exception set.
PyTypeObject* add_type(PyObject* module, PyType_Spec* spec, PyObject* bases = nullptr);

}  // namespace md
