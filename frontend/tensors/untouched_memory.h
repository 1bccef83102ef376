// Memory of zeros that takes no room until somebody writes to it: of tensors that are known by sizes and dtype only.
#pragma once

#include "ir/tensor/tensor.h"

namespace md {

Ref<Storage> untouched_zeros(std::size_t bytes);  // throws OpError(Memory)
// The like on another device, where zeros take room.
Ref<Storage> untouched_zeros(std::size_t bytes, Device device);

}  // namespace md
