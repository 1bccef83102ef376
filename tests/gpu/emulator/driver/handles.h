// Handles that users of the driver hold: addresses of objects, known to be alive before they are followed.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "entry.h"

namespace emulated {

template <class T>
class Handles {
 public:
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    const std::lock_guard guard(lock_);
    T* address = object.get();
    alive_[address] = std::move(object);
    return reinterpret_cast<Handle>(address);
  }
  std::shared_ptr<T> look_up(const void* handle) {
    const std::lock_guard guard(lock_);
    const auto found = alive_.find(handle);
    return found == alive_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> get(const void* handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    std::shared_ptr<T> found = look_up(handle);
    check(found != nullptr, otherwise);
    return found;
  }
  std::shared_ptr<T> remove(const void* handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    const std::lock_guard guard(lock_);
    const auto found = alive_.find(handle);
    check(found != alive_.end(), otherwise);
    std::shared_ptr<T> object = std::move(found->second);
    alive_.erase(found);
    return object;
  }

 private:
  std::mutex lock_;
  std::unordered_map<const void*, std::shared_ptr<T>> alive_;
};

// Never destroyed: threads of streams may outlive main.
template <class T>
Handles<T>& handles() {
  static Handles<T>& all = *new Handles<T>;
  return all;
}

}  // namespace emulated
