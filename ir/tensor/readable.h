// Elements that this process cannot follow a pointer to: copied to where it can, and bytes moved between devices.
#pragma once

#include <cstddef>

#include "ir/tensor/tensor.h"

namespace md {

// The same elements in memory of the process, with the same sizes and strides: `t` itself, or a copy of what it covers,
// made when the device is done with it. `t` has memory.
TensorRef readable(const TensorRef& t);

// The same for a caller that is done with other work: while it waits for a device, other threads of the program go on.
TensorRef readable_when_done(const TensorRef& t);

// From the first byte that a tensor covers to one past the last, of its storage.
struct CoveredBytes {
  std::size_t begin, count;
};
CoveredBytes covered_bytes(const TensorImpl& t);

// Between any two devices with memory, waiting for whatever writes there; the copy is done on return unless
// EarlyReturn is on in this thread and a side is pinned. Throws OpError(Runtime) without a runtime.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
// A new storage on `device` with the bytes of another.
Ref<Storage> copied_storage(const Storage& from, Device device);
// Zeros, where the device has memory.
Ref<Storage> zeros_on(std::size_t bytes, Device device);

// While it lives, the lock of the program's threads may be let go of while a copy is waited for (ir/run/long_work.h).
// Both tensors are the thread's own: others may give theirs another memory. Their memory stays where it is.
class CopyMeanwhile {
 public:
  CopyMeanwhile(const TensorRef& a, const TensorRef& b);
  ~CopyMeanwhile();
  CopyMeanwhile(const CopyMeanwhile&) = delete;
  CopyMeanwhile& operator=(const CopyMeanwhile&) = delete;
  static bool is_on();  // in this thread

 private:
  const Ref<Storage> a_, b_;
  const bool before_;
};
TensorRef own_tensor(const TensorImpl& t);  // on the same memory

// While it lives, copies may go on after the call (`non_blocking`).
class EarlyReturn {
 public:
  explicit EarlyReturn(bool on);
  ~EarlyReturn();
  EarlyReturn(const EarlyReturn&) = delete;
  EarlyReturn& operator=(const EarlyReturn&) = delete;

 private:
  bool before_;
};

}  // namespace md
