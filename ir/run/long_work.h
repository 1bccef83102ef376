// Kernels that take long release the lock of the program's threads meanwhile. Which lock that is (CPython's), and when
// not to, is the embedder's: here are the hooks, and what keeps a kernel's memory in place while others run.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/arg.h"
#include "ir/run/read_set.h"
#include "ir/tensor/tensor.h"

namespace md {

struct HostLock {
  void* (*release)();  // what it returns is handed to `acquire`; null: not held, as in a thread of our own
  void (*acquire)(void* released);
};
// Before any kernel runs; `lock` is copied.
void set_host_lock(const HostLock& lock);

// Called before the lock is released for work, as far as the thread holds it: what must not be seen half done is
// finished there. Set once, before there are other threads; throws nothing.
void set_before_release(void (*function)() noexcept);

// Below this, letting go and waiting for others costs more than it brings them.
inline constexpr double kLongWork = 100e3;  // nanoseconds

// How often work of this thread took as long as that.
unsigned long_works_here();

// Copies of the tensors a kernel uses. While it runs without the lock another thread may drop one of the originals, or
// give it other sizes, another dtype or other memory.
class HeldMemory {
 public:
  TensorRef add(TensorImpl& t);
  Arg add(const Arg& a);
  // Throws ReadConflict if somebody has written since to one of these, which are sorted.
  void expect_unwritten(std::span<const Storage* const> storages) const;
  // Between the two the memory stays where it is.
  void begin_work() noexcept;
  void end_work() noexcept;

 private:
  struct Held {
    TensorRef tensor, copy;
    std::uint32_t version;
  };
  static constexpr std::size_t kFew = 16;  // looked through one by one
  std::vector<Held> tensors_;
  std::unordered_map<const TensorImpl*, std::size_t> places_;  // of all of them, where there are more
};

// Releases the lock for its lifetime. Only for work on memory that no other thread can see.
class HostLockReleased {
 public:
  HostLockReleased();
  ~HostLockReleased();
  HostLockReleased(const HostLockReleased&) = delete;
  HostLockReleased& operator=(const HostLockReleased&) = delete;

 private:
  void* const released_;
};

// The same if the work is expected to take kLongWork or more. `memory`: what it reads and writes.
class LongWork {
 public:
  LongWork(double nanoseconds, HeldMemory& memory) : memory_(memory) {
    if (nanoseconds >= kLongWork) [[unlikely]]
      release();
  }
  ~LongWork() {
    if (released_) [[unlikely]]
      acquire();
  }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void release();
  void acquire();
  HeldMemory& memory_;
  void* released_ = nullptr;
};

}  // namespace md
