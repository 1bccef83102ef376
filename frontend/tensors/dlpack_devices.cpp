// Numbers of devices and handles of streams, asked of the runtime.
#include "frontend/tensors/dlpack_devices.h"

#include "frontend/tensors/op_function.h"
#include "ir/core/error.h"
#include "ir/tensor/device_runtime.h"

namespace md {

dlpack::Device place_of(Device d) {
  return d.type == DeviceType::Cuda ? dlpack::Device{dlpack::kCuda, d.index} : dlpack::Device{dlpack::kCpu, 0};
}

std::optional<Device> device_at(std::int64_t type, std::int64_t ordinal) {
  if (type == dlpack::kCpu || type == dlpack::kCudaHost) return kCpu;
  if (type != dlpack::kCuda) return {};
  DeviceRuntime* const devices = device_runtime(DeviceType::Cuda);
  if (!devices || ordinal < 0 || ordinal >= devices->device_count()) return {};
  return Device{DeviceType::Cuda, static_cast<std::int8_t>(ordinal)};
}

std::optional<Device> device_of_pair(PyObject* pair) {
  if (!pair || pair == Py_None) return {};
  long numbers[2];
  for (Py_ssize_t i = 0; i < 2; ++i) {
    numbers[i] = PyLong_AsLong(checked(PySequence_GetItem(pair, i)).get());
    if (numbers[i] == -1 && PyErr_Occurred()) throw PythonError{};
    if (i == 0 && numbers[0] == dlpack::kCpu) return kCpu;
  }
  if (const std::optional<Device> found = device_at(numbers[0], numbers[1])) return found;
  PyErr_Format(PyExc_BufferError, "DLPack device type %ld: tensors of minidynamo are in the memory of the CPU (1)",
               numbers[0]);
  throw PythonError{};
}

void* current_stream(Device d) {
  if (d.is_readable()) return nullptr;
  DeviceRuntime& devices = *device_runtime(d.type);
  return devices.stream_handle(d.index, devices.current_stream(d.index));
}

PyRef stream_of(Device d) {
  void* const handle = current_stream(d);
  return checked(handle ? PyLong_FromVoidPtr(handle) : PyLong_FromLong(1));
}

void wait_for_consumer(const TensorImpl& t, PyObject* stream) {
  if (t.is_readable()) {
    if (!stream || stream == Py_None || (PyLong_Check(stream) && PyLong_AsLong(stream) == -1)) return;
    PyErr_Clear();
    throw_type_error("__dlpack__(): tensors of the CPU have no streams: `stream` must be None or -1");
  }
  std::int64_t handle = 1;  // the default stream
  if (stream && stream != Py_None) {
    if (!PyLong_Check(stream)) throw_type_error("stream must be an int or None");
    handle = PyLong_AsLongLong(stream);
    if (handle == -1 && PyErr_Occurred()) throw PythonError{};
  }
  if (handle == 2) throw OpError(ErrorKind::Value, "per-thread default stream is not supported.");
  if (handle == 0) throw OpError(ErrorKind::Value, "unsupported stream on CUDA: 0; the default stream is 1");
  if (handle == -1) return;
  void* const own = current_stream(t.device());
  if (handle == (own ? static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(own)) : 1)) return;
  DeviceRuntime& devices = *device_runtime(t.device().type);
  devices.synchronize_stream(t.device().index, devices.current_stream(t.device().index));
}

}  // namespace md
