// Tensors whose calls the program answers: what they stand for only its handler (__torch_dispatch__) knows.
#pragma once

#include "ir/tensor/batched.h"

namespace md {

// Shared by a tensor and by what the record of gradients keeps of it: to the program they are one.
class Handled final : public RefCounted {
 public:
  Handled() { transforms_in_use.fetch_add(1, std::memory_order_relaxed); }
  ~Handled() override { transforms_in_use.fetch_sub(1, std::memory_order_relaxed); }

  void* face = nullptr;  // the program's object while there is one
  Ref<RefCounted> kept;  // holds that object where nobody else does any more
};

inline Handled* handled_of(const TensorImpl& t) { return t.batch ? dynamic_cast<Handled*>(t.batch.get()) : nullptr; }

// How many handlers (modes) are asked about every call in this thread, and whether tensors' own are not asked.
struct HandlersHere {
  int modes = 0;
  int tensors_off = 0;
};
inline HandlersHere& handlers_here() {
  thread_local constinit HandlersHere here;
  return here;
}

}  // namespace md
