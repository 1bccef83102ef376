// Batched tensors share the storage of what they stand for.
#include "ir/tensor/batched.h"

namespace md {

Batch::Batch(TensorRef all, std::vector<std::uint32_t> levels) : all(std::move(all)), levels(std::move(levels)) {
  transforms_in_use.fetch_add(1, std::memory_order_relaxed);
}
Batch::~Batch() { transforms_in_use.fetch_sub(1, std::memory_order_relaxed); }

TensorRef batched_tensor(TensorRef all, std::vector<std::uint32_t> levels) {
  if (levels.empty()) return all;
  DimVec sizes, strides;
  for (std::size_t i = levels.size(); i < all->sizes.size(); ++i) {
    sizes.push_back(all->sizes[i]);
    strides.push_back(all->strides[i]);
  }
  TensorRef t = make_ref<TensorImpl>(all->storage, all->dtype, sizes, strides, all->offset);
  t->made_after = all->made_after;
  t->batch = make_ref<Batch>(std::move(all), std::move(levels));
  renew_grad_state(*t);
  return t;
}

void renew_grad_state(TensorImpl& t) {
  const Batch* b = batch_of(t);
  if (b) t.set_grad_state({b->all->requires_grad, b->all->history});
}

}  // namespace md
