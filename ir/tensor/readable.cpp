// Copies over the runtimes of devices.
#include "ir/tensor/readable.h"

#include <cstring>
#include <utility>

#include "ir/core/error.h"
#include "ir/tensor/device_runtime.h"
#include "ir/tensor/extent.h"

namespace md {
namespace {

thread_local bool may_return_early = false, others_may_go_on = false;

DeviceRuntime& runtime_of(Device d) {
  DeviceRuntime* const r = device_runtime(d.type);
  if (!r) throw OpError(ErrorKind::Runtime, "there is no memory on device '" + to_string(d) + "' in this build");
  return *r;
}

}  // namespace

EarlyReturn::EarlyReturn(bool on) : before_(may_return_early) { may_return_early = on; }
EarlyReturn::~EarlyReturn() { may_return_early = before_; }

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  if (bytes == 0) return;
  if (to_device.is_readable() && from_device.is_readable()) {
    std::memmove(to, from, bytes);
    return;
  }
  DeviceRuntime& runtime = runtime_of(to_device.is_readable() ? from_device : to_device);
  runtime.copy(to, to_device, from, from_device, bytes, may_return_early);
}

CoveredBytes covered_bytes(const TensorImpl& t) {
  const auto item = static_cast<std::size_t>(item_size(t.dtype));
  const std::size_t begin = static_cast<std::size_t>(t.offset) * item;
  return {begin, t.numel() == 0 ? 0 : static_cast<std::size_t>(checked_reach(t.sizes, t.strides)) * item};
}

TensorRef readable(const TensorRef& t) {
  if (t->is_readable()) [[likely]]
    return t;
  const CoveredBytes covered = covered_bytes(*t);
  Ref<Storage> memory = allocate_storage(covered.count);
  const EarlyReturn no(false);
  copy_bytes(memory->data(), kCpu, t->data(), t->device(), covered.count);
  TensorRef made = make_ref<TensorImpl>(std::move(memory), t->dtype, t->sizes, t->strides, 0);
  made->wrapped_number = t->wrapped_number;
  return made;
}

CopyMeanwhile::CopyMeanwhile(const TensorRef& a, const TensorRef& b)
    : a_(a->storage), b_(b->storage), before_(std::exchange(others_may_go_on, true)) {
  for (const Ref<Storage>& s : {a_, b_}) s->at_work.fetch_add(1, std::memory_order_relaxed);
}
CopyMeanwhile::~CopyMeanwhile() {
  for (const Ref<Storage>& s : {a_, b_}) s->at_work.fetch_sub(1, std::memory_order_relaxed);
  others_may_go_on = before_;
}
bool CopyMeanwhile::is_on() { return others_may_go_on; }

TensorRef own_tensor(const TensorImpl& t) {
  TensorRef made = make_ref<TensorImpl>(t.storage, t.dtype, t.sizes, t.strides, t.offset);
  made->wrapped_number = t.wrapped_number;
  return made;
}

TensorRef readable_when_done(const TensorRef& t) {
  if (t->is_readable()) return t;
  const TensorRef own = own_tensor(*t);
  const CopyMeanwhile others(own, own);
  return readable(own);
}

Ref<Storage> copied_storage(const Storage& from, Device device) {
  Ref<Storage> made = allocate_storage(from.bytes(), device);
  copy_bytes(made->data(), device, from.data(), from.device(), from.bytes());
  return made;
}

Ref<Storage> zeros_on(std::size_t bytes, Device device) {
  Ref<Storage> made = allocate_storage(bytes, device);
  if (bytes == 0 || !device.has_memory()) return made;
  if (device.is_readable())
    std::memset(made->data(), 0, bytes);
  else
    runtime_of(device).fill(made->data(), device.index < 0 ? 0 : device.index, 0, bytes);
  return made;
}

}  // namespace md
