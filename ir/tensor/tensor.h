// Storage and TensorImpl: the Python-free tensor. Sizes, strides and offset count elements.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "ir/core/ref.h"
#include "ir/core/thread_modes.h"
#include "ir/sizes/size.h"
#include "registry/device.h"
#include "registry/dtype.h"

namespace md {

// A block of bytes shared by every view of it. On a device without memory `data` is null, and `bytes` what it would
// take.
class Storage final : public RefCounted {
 public:
  using Release = void (*)(void* data, std::size_t bytes, void* context);
  // Takes over `data`; `release` runs once, when the last view is gone.
  Storage(void* data, std::size_t bytes, Release release, void* context, Device device = kCpu)
      : device_(device), data_(data), bytes_(bytes), release_(release), context_(context) {}
  ~Storage() override {
    if (release_) release_(data_, bytes_, context_);
  }
  // Each thread keeps a few for the next ones.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* p) noexcept;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  // What holds complex numbers was made as the conjugate of others, which torch keeps as a view to be resolved.
  bool is_conjugate() const { return conjugate_; }
  void set_conjugate(bool on) { conjugate_ = on; }
  // Exchanges the blocks, which are on one device: every view of this storage sees the other's memory from here on.
  void exchange(Storage& o) {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    std::swap(release_, o.release_);
    std::swap(context_, o.context_);
  }
  // Bumped by every in-place write (autograd's and the guards' version counter).
  std::uint32_t version = 0;
  // The memory belongs to someone else (NumPy, DLPack): other storages may overlap it.
  bool foreign = false;
  // An array or a capsule was made over the memory: while others hold it, it stays where it is.
  bool lent = false;
  // Made in inference mode: outside of it no operation writes there, and backward() keeps none of it.
  const bool inference = thread_modes.inference;
  // Operations that use the memory while other threads go on: it stays where it is.
  std::atomic<std::uint16_t> at_work{0};

 private:
  const Device device_;
  bool conjugate_ = false;
  void* data_;
  std::size_t bytes_;
  Release release_;
  void* context_;
};

// By the allocator of the device. On the CPU: 64-byte aligned, uninitialised, from the caching allocator (backend/)
// once it is installed, else from malloc. Throws OpError(Memory), and OpError(Runtime) for a device without an
// allocator.
Ref<Storage> allocate_storage(std::size_t bytes, Device device = kCpu);
using AllocateFn = Ref<Storage> (*)(std::size_t bytes, Device device);
void set_allocator(DeviceType type, AllocateFn fn);  // null: the one there was at first

// How a tensor came to require grad, which decides what may be done to it. There is no record of operations.
enum class GradHistory : std::uint8_t {
  Leaf,          // it was made so, or requires none
  Computed,      // from tensors that require grad
  LeafView,      // a view of a leaf that requires grad
  UntrackedView  // requires none: a view of what does, taken while gradients were off
};

// In texts of graphs.
inline constexpr std::string_view kGradHistoryWords[] = {"leaf", "computed", "leaf_view", "untracked_view"};

struct GradState {
  bool requires_grad = false;
  GradHistory history = GradHistory::Leaf;
};

class TensorImpl final : public RefCounted {
 public:
  TensorImpl(Ref<Storage> storage, DType dtype, const DimVec& sizes, const DimVec& strides, std::int64_t offset)
      : storage(std::move(storage)), sizes(sizes), strides(strides), offset(offset), dtype(dtype) {}

  static void* operator new(std::size_t bytes);  // as Storage's
  static void operator delete(void* p) noexcept;

  int dim() const { return static_cast<int>(sizes.size()); }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (auto s : sizes) n *= s;
    return n;
  }
  Device device() const { return storage->device(); }
  bool has_memory() const { return storage->device().has_memory(); }
  bool is_readable() const { return storage->device().is_readable(); }  // data() may be followed here
  // Kernels know nothing of gradients: who made or wrote the tensor says it.
  void set_grad_state(GradState s) { requires_grad = s.requires_grad, history = s.history; }
  bool is_leaf() const { return !requires_grad || history == GradHistory::Leaf; }
  // Only where the device has memory.
  void* data() const {
    return static_cast<char*>(storage->data()) + offset * static_cast<std::int64_t>(item_size(dtype));
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  bool is_contiguous() const;
  // Of a batch of matrices, which lie in the last two dimensions: how many there are, and where the one with this
  // number starts, in elements from the tensor's first.
  std::int64_t matrices() const;
  std::int64_t matrix_offset(std::int64_t number) const;

  Ref<Storage> storage;
  DimVec sizes, strides;
  std::int64_t offset;
  DType dtype;
  bool requires_grad = false;
  GradHistory history = GradHistory::Leaf;
  bool retains_grad = false;  // retain_grad() was called
  // What autograd keeps of the tensor (ir/gradients/tape.h): its gradient, the call that computed it. Null for most.
  Ref<RefCounted> autograd;
  Ref<TensorImpl> base;  // of a view: the tensor it shows a part of, no view itself
  // Of a tensor that stands for one example of several (ir/tensor/batched.h): all of them. Null for most.
  Ref<RefCounted> batch;
  void* face = nullptr;  // the program's object for the tensor while there is one: it holds the tensor
  // 0-d tensor made from a Python number: takes part in promotion as a number does.
  bool wrapped_number = false;
  // When a transform is active: how many had begun in this process when the tensor was made.
  std::uint32_t made_after = 0;
};
using TensorRef = Ref<TensorImpl>;

DimVec contiguous_strides(const DimVec& sizes);
TensorRef empty_tensor(const DimVec& sizes, DType dtype, Device device = kCpu);  // contiguous, uninitialised
TensorRef scalar_tensor(double v, DType dtype);                                  // 0-d
TensorRef scalar_tensor(std::int64_t v, DType dtype);                            // 0-d

}  // namespace md
