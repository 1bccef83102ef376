// Kernels that take long let the program's other threads go on meanwhile: whoever embeds the library says what holds
// them up (CPython's lock) and how to let go of it.
#pragma once

#include <vector>

#include "ir/arg.h"
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

// Tensors as they are now. While the work is done others may drop one, or give it other sizes, another dtype or other
// memory: the work takes the copies.
class HeldMemory {
 public:
  TensorRef add(TensorImpl& t);
  Arg add(const Arg& a);
  // Between the two the memory stays where it is.
  void begin_work() noexcept;
  void end_work() noexcept;

 private:
  struct Held {
    TensorRef tensor, copy;
  };
  std::vector<Held> tensors_;
};

// For as long as it lives others go on, if the work is expected to take long. `memory`: what it reads and writes.
class LongWork {
 public:
  LongWork(double nanoseconds, HeldMemory& memory) : memory_(memory) {
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
  HeldMemory& memory_;
  void* left_ = nullptr;
};

}  // namespace md
