// Kernels that take long let the program's other threads go on meanwhile: whoever embeds the library says what holds
// them up (CPython's lock) and how to let go of it.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace md {

struct Interlude {
  void* (*leave)();  // null: there is nothing to let go of, as in a thread of our own
  void (*enter)(void* left);
};
// Before any kernel runs; `i` is copied.
void set_interlude(const Interlude& i);

// Below this, letting go and waiting for others costs more than it brings them.
inline constexpr double kLongWork = 100e3;  // nanoseconds

// Tensors and their memory, held: others may drop tensors, or give them other memory, while the work is done.
class HeldMemory {
 public:
  void add(TensorImpl& t) {
    tensors_.emplace_back(&t);
    memory_.push_back(t.storage);
  }

 private:
  std::vector<TensorRef> tensors_;
  std::vector<Ref<Storage>> memory_;
};

// For as long as it lives others go on, if the work is expected to take long. The caller holds what the work reads and
// writes.
class LongWork {
 public:
  explicit LongWork(double nanoseconds) {
    if (nanoseconds >= kLongWork) [[unlikely]]
      leave();
  }
  ~LongWork() {
    if (left_) [[unlikely]]
      enter();
  }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void leave();
  void enter();
  void* left_ = nullptr;
};

}  // namespace md
