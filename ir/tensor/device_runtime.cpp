// The device runtimes in use, by type.
#include "ir/tensor/device_runtime.h"

#include <atomic>

namespace md {

static std::atomic<DeviceRuntime*>& runtime_of(DeviceType type) {
  static std::atomic<DeviceRuntime*> runtimes[kDeviceTypeCount] = {};
  return runtimes[static_cast<std::size_t>(type)];
}

DeviceRuntime* device_runtime(DeviceType type) { return runtime_of(type).load(std::memory_order_acquire); }
void set_device_runtime(DeviceType type, DeviceRuntime* runtime) {
  runtime_of(type).store(runtime, std::memory_order_release);
}

}  // namespace md
