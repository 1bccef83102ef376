// Asks the runtime of CUDA devices, the only ones that copy beside the program.
#include "frontend/tensors/pinned_memory.h"

#include <cstring>

#include "frontend/tensors/tensor_object.h"
#include "ir/core/error.h"
#include "ir/tensor/device_runtime.h"
#include "ir/tensor/readable.h"

namespace md {

TensorRef pinned_copy(const TensorImpl& t) {
  DeviceRuntime* const devices = device_runtime(DeviceType::Cuda);
  if (!devices || devices->device_count() == 0)
    throw OpError(ErrorKind::Runtime, "memory is pinned for copies to CUDA devices, of which there are none");
  const CoveredBytes covered = covered_bytes(t);
  Ref<Storage> memory = devices->allocate_pinned(covered.count);
  copy_bytes(memory->data(), kCpu, t.data(), t.device(), covered.count);
  return make_ref<TensorImpl>(std::move(memory), t.dtype, t.sizes, t.strides, 0);
}

bool asks_for_pinned(const char* name, PyObject* value) {
  if (value != Py_True || std::strcmp(name, "pin_memory") != 0) return false;
  DeviceRuntime* const devices = device_runtime(DeviceType::Cuda);
  return devices && devices->device_count() > 0;
}

bool asks_for_pinned(const PassedArgs& call) {
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    const char* const name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.kwnames, i));
    if (name && asks_for_pinned(name, call.args[call.nargs + i])) return true;
  }
  return false;
}

PyRef made_pinned(const PyRef& tensor) {
  const TensorImpl& t = *tensor_impl(tensor.get());
  if (!t.device().is_cpu())
    throw OpError(ErrorKind::Runtime, "only dense CPU tensors can be pinned, not one on " + to_string(t.device()));
  TensorRef made = pinned_copy(t);
  made->set_grad_state(GradState{t.requires_grad, GradHistory::Leaf});
  return wrap_tensor(std::move(made));
}

}  // namespace md
