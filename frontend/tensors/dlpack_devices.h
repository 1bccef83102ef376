// Devices and streams as DLPack names them.
#pragma once

#include <cstdint>
#include <optional>

#include "frontend/cpython/py_ref.h"
#include "frontend/tensors/dlpack_abi.h"
#include "ir/tensor/tensor.h"

namespace md {

dlpack::Device place_of(Device d);
// Nothing for devices that there are none of.
std::optional<Device> device_at(std::int64_t type, std::int64_t ordinal);
// (1, 0): the CPU; (2, n): cuda:n; nothing for None. Throws BufferError for what there is not.
std::optional<Device> device_of_pair(PyObject* pair);
// What was begun on the tensor's device is done before the consumer's work on its stream: nothing needs to be waited
// for where that is the current stream, or the consumer says (-1) that it takes care.
void wait_for_consumer(const TensorImpl& t, PyObject* stream);
// The handle of the current stream; null: the default stream, or none.
void* current_stream(Device d);
PyRef stream_of(Device d);  // as producers are told it

}  // namespace md
