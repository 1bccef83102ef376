// Allocation by device, spare blocks per thread for the two small objects every call makes, and contiguity.
#include "ir/tensor/tensor.h"

#include <atomic>
#include <cstdlib>

#include "ir/core/error.h"
#include "ir/core/scalar_builder.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/stored_numbers.h"
#include "ir/tensor/strided.h"

namespace md {
namespace {

constexpr std::size_t kAlignment = 64;

Ref<Storage> allocate_plain(std::size_t bytes, Device) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded ? rounded : kAlignment);
  if (!data)
    throw OpError(ErrorKind::Memory, "not enough memory: tried to allocate " + std::to_string(bytes) + " bytes");
  return make_ref<Storage>(data, bytes, [](void* p, std::size_t, void*) { std::free(p); }, nullptr);
}

// Sizes without elements.
Ref<Storage> allocate_nothing(std::size_t bytes, Device) {
  return make_ref<Storage>(nullptr, bytes, nullptr, nullptr, kMeta);
}

// By device type; the others have none.
constexpr AllocateFn kFirstAllocators[kDeviceTypeCount] = {allocate_plain, allocate_nothing};
std::atomic<AllocateFn> allocators[kDeviceTypeCount] = {allocate_plain, allocate_nothing};
std::atomic<AllocateFn>& allocator_of(DeviceType type) { return allocators[static_cast<std::size_t>(type)]; }

template <class T>
TensorRef filled_scalar(T v, DType dtype) {
  TensorRef t = empty_tensor({}, dtype);
  if (is_storage_only(dtype)) return store_number(dtype, t->data(), v), t;
  visit_dtype(dtype, [&](auto element) { *t->as<decltype(element)>() = convert_value<decltype(element)>(v); });
  return t;
}

// Memory of objects of one class that a thread has let go of.
template <class T>
class Spares {
 public:
  static void* take(std::size_t bytes) {
    Spares* const s = mine;
    return s && s->count_ ? s->blocks_[--s->count_] : ::operator new(bytes);
  }
  static void give(void* p) noexcept {
    Spares* const s = mine ? mine : first_use();
    if (s && s->count_ < kMost)
      s->blocks_[s->count_++] = p;
    else
      ::operator delete(p);
  }
  ~Spares() {
    mine = nullptr, ended = true;
    while (count_) ::operator delete(blocks_[--count_]);
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kMost = 0;  // they would hide every use after free from the sanitizer
#else
  static constexpr std::size_t kMost = 64;
#endif
  [[gnu::noinline]] static Spares* first_use() noexcept {
    if (ended) return nullptr;  // objects may die after the thread's own variables
    static thread_local Spares spares;
    return mine = &spares;
  }

  static inline thread_local Spares* mine = nullptr;
  static inline thread_local bool ended = false;
  std::size_t count_ = 0;
  void* blocks_[kMost + 1];
};

}  // namespace

void* Storage::operator new(std::size_t bytes) { return Spares<Storage>::take(bytes); }
void Storage::operator delete(void* p) noexcept { Spares<Storage>::give(p); }
void* TensorImpl::operator new(std::size_t bytes) { return Spares<TensorImpl>::take(bytes); }
void TensorImpl::operator delete(void* p) noexcept { Spares<TensorImpl>::give(p); }

Ref<Storage> allocate_storage(std::size_t bytes, Device device) {
  const AllocateFn allocate = allocator_of(device.type).load(std::memory_order_relaxed);
  if (!allocate) [[unlikely]]
    throw OpError(ErrorKind::Runtime, "there is no memory on device '" + to_string(device) + "' in this build");
  return allocate(bytes, device);
}
void set_allocator(DeviceType type, AllocateFn fn) {
  allocator_of(type).store(fn ? fn : kFirstAllocators[static_cast<std::size_t>(type)]);
}

bool TensorImpl::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return numel() == 0;
    expected *= sizes[i];
  }
  return true;
}

std::int64_t TensorImpl::matrices() const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i) n *= sizes[i];
  return n;
}

std::int64_t TensorImpl::matrix_offset(std::int64_t number) const {
  std::int64_t at = 0;
  for (std::size_t i = sizes.size() - 2; i-- > 0;) {
    at += number % sizes[i] * strides[i];
    number /= sizes[i];
  }
  return at;
}

DimVec contiguous_strides(const DimVec& sizes) {
  DimVec strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    // Strides that do not fit belong to a tensor without elements or to one that is refused where it gets memory.
    if (sizes[i] > 1 && __builtin_mul_overflow(next, sizes[i], &next)) next = 0;
  }
  return strides;
}

TensorRef empty_tensor(const DimVec& sizes, DType dtype, Device device) {
  Ref<Storage> storage = allocate_storage(checked_bytes(sizes, dtype), device);
  return make_ref<TensorImpl>(std::move(storage), dtype, sizes, contiguous_strides(sizes), 0);
}

TensorRef scalar_tensor(double v, DType dtype) { return filled_scalar(v, dtype); }
TensorRef scalar_tensor(std::int64_t v, DType dtype) { return filled_scalar(v, dtype); }

}  // namespace md
