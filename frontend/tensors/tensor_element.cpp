// Looks into the memory of tensors without dimensions.
#include "frontend/tensors/tensor_element.h"

#include <cstring>

#include "frontend/tensors/tensor_object.h"
#include "ir/tensor/lazy_view.h"

namespace md {

bool read_element(PyObject* o, DType dtype, void* out) {
  if (!is_tensor(o)) return false;
  const TensorImpl& t = *tensor_impl(o);
  if (t.dtype != dtype || t.dim() != 0 || !t.device().is_cpu() || pending_of(t)) return false;
  if (!t.storage->data() || static_cast<std::size_t>(t.offset + 1) * info(dtype).size > t.storage->bytes())
    return false;
  std::memcpy(out, t.data(), info(dtype).size);
  return true;
}

}  // namespace md
