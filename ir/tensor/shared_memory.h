// Whether two storages are the same memory: tensors over arrays and buffers of others may overlap in storages apart.
#pragma once

#include "ir/tensor/tensor.h"

namespace md {

inline bool share_memory(const Storage& a, const Storage& b) {
  if (&a == &b) return true;
  if ((!a.foreign && !b.foreign) || !(a.device() == b.device())) return false;
  const auto *from_a = static_cast<const char*>(a.data()), *from_b = static_cast<const char*>(b.data());
  return from_a < from_b + b.bytes() && from_b < from_a + a.bytes();
}

}  // namespace md
