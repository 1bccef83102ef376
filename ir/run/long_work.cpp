// Copies of tensors by the tensor they stand for, and when the lock is let go of.
#include "ir/run/long_work.h"

#include <algorithm>

namespace md {

namespace {
HostLock host_lock{nullptr, nullptr};  // written once, before there are other threads
void (*before_release)() noexcept = nullptr;
thread_local unsigned long_works = 0;
}  // namespace

unsigned long_works_here() { return long_works; }

void set_host_lock(const HostLock& lock) { host_lock = lock; }

TensorRef HeldMemory::add(TensorImpl& t) {
  if (tensors_.size() <= kFew) {
    for (const Held& h : tensors_)
      if (h.tensor.get() == &t) return h.copy;
  } else {
    for (std::size_t k = places_.size(); k < tensors_.size(); ++k) places_.emplace(tensors_[k].tensor.get(), k);
    if (const auto found = places_.find(&t); found != places_.end()) return tensors_[found->second].copy;
  }
  TensorRef copy = make_ref<TensorImpl>(t.storage, t.dtype, t.sizes, t.strides, t.offset);
  copy->set_grad_state({t.requires_grad, t.history});
  copy->wrapped_number = t.wrapped_number;
  tensors_.push_back({TensorRef(&t), copy, t.storage->version});
  return copy;
}
Arg HeldMemory::add(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>(); t && *t) return add(**t);
  const auto* l = a.get_if<ListArg>();
  if (!l) return a;
  ListArg out{{}, l->tuple};
  for (const Arg& x : l->items) out.items.push_back(add(x));
  return out;
}
void HeldMemory::expect_unwritten(std::span<const Storage* const> storages) const {
  for (const Held& h : tensors_)
    if (h.version != h.copy->storage->version &&
        std::binary_search(storages.begin(), storages.end(), h.copy->storage.get()))
      throw ReadConflict{};
}
void HeldMemory::begin_work() noexcept {
  for (const Held& h : tensors_) h.copy->storage->at_work.fetch_add(1, std::memory_order_relaxed);
}
void HeldMemory::end_work() noexcept {
  for (const Held& h : tensors_) h.copy->storage->at_work.fetch_sub(1, std::memory_order_relaxed);
}

void set_before_release(void (*function)() noexcept) { before_release = function; }

static bool may_release() {
  if (!host_lock.release || ReadSet::is_validated()) return false;
  if (before_release) before_release();
  return true;
}

HostLockReleased::HostLockReleased() : released_(may_release() ? host_lock.release() : nullptr) {}
HostLockReleased::~HostLockReleased() {
  if (released_) host_lock.acquire(released_);
}

void LongWork::release() {
  ++long_works;
  if (!may_release()) return;
  memory_.begin_work();
  if (!(released_ = host_lock.release())) memory_.end_work();
}
void LongWork::acquire() {
  host_lock.acquire(released_);
  memory_.end_work();
}

}  // namespace md
