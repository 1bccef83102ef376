// Memory of the host that copies to a device need not wait for.
#pragma once

#include "frontend/tensors/op_function.h"

namespace md {

// A copy of the elements there. Throws OpError(Runtime) where there are no devices.
TensorRef pinned_copy(const TensorImpl& t);
// An argument `pin_memory` that asks for it, where there is a device; without one such an argument is refused.
bool asks_for_pinned(const char* name, PyObject* value);
bool asks_for_pinned(const PassedArgs& call);  // by name
// What was just made, there instead. Throws OpError(Runtime) for what is not on the CPU.
PyRef made_pinned(const PyRef& tensor);

}  // namespace md
