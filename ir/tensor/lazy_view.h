// Tensors that show the conjugates or the negatives of what lies in memory: conj() of a complex tensor, and the
// imaginary parts of that. Who reads elements asks for a tensor of its own first (ir/run/lazy_calls.h); writes are
// turned round.
#pragma once

#include "ir/tensor/batched.h"

namespace md {

// Conjugate and negative: both may be pending of a complex tensor.
struct Pending {
  bool conjugate = false;
  bool negative = false;
  explicit operator bool() const { return conjugate || negative; }
  bool operator==(const Pending&) const = default;
};

// While one lives calls look for such operands where they look for those of function transforms.
class LazyView final : public RefCounted {
 public:
  explicit LazyView(Pending p) : pending(p) { transforms_in_use.fetch_add(1, std::memory_order_relaxed); }
  ~LazyView() override { transforms_in_use.fetch_sub(1, std::memory_order_relaxed); }

  const Pending pending;
};

inline Pending pending_of(const TensorImpl& t) {
  if (!t.batch) return {};
  const auto* lazy = dynamic_cast<const LazyView*>(t.batch.get());
  return lazy ? lazy->pending : Pending{};
}
// `t`, which is no batched tensor, shows its memory so from here on.
inline void set_pending(TensorImpl& t, Pending p) {
  t.batch = p ? Ref<RefCounted>(make_ref<LazyView>(p)) : Ref<RefCounted>();
}

}  // namespace md
