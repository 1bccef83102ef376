// Tensors inside vmap. Each stands for one example of several, which lie along the first dimensions of another tensor;
// to the program its sizes are those of one example.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "ir/tensor/tensor.h"

namespace md {

// What such a tensor stands for. `levels` names the calls of vmap, outer ones first: these are the first dimensions of
// `all`, in that order.
class Batch final : public RefCounted {
 public:
  Batch(TensorRef all, std::vector<std::uint32_t> levels);
  ~Batch() override;

  const TensorRef all;
  const std::vector<std::uint32_t> levels;
};

// Function transforms (vmap, grad, ...) that are under way in any thread, and batched tensors that live. While it is 0
// no call has to look for either.
inline constinit std::atomic<int> transforms_in_use{0};
inline bool in_transform() { return transforms_in_use.load(std::memory_order_relaxed) != 0; }
// How many transforms have begun in this process; the last one's number.
inline constinit std::atomic<std::uint32_t> transforms_begun{0};

inline const Batch* batch_of(const TensorImpl& t) {
  return t.batch ? dynamic_cast<const Batch*>(t.batch.get()) : nullptr;  // it may be another thing: handled.h
}
// One example of `all`, whose first dimensions are `levels`; `all` itself without any. It requires grad if `all` does.
TensorRef batched_tensor(TensorRef all, std::vector<std::uint32_t> levels);
// After a write to what `t` stands for: it requires grad if that does.
void renew_grad_state(TensorImpl& t);

}  // namespace md
