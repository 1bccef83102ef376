// The device runtimes in use, by type.
#include "ir/tensor/device_runtime.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <string>

#include "ir/core/error.h"

namespace md {

static std::atomic<DeviceRuntime*>& runtime_of(DeviceType type) {
  static std::atomic<DeviceRuntime*> runtimes[kDeviceTypeCount] = {};
  return runtimes[static_cast<std::size_t>(type)];
}

DeviceRuntime* device_runtime(DeviceType type) { return runtime_of(type).load(std::memory_order_acquire); }
void set_device_runtime(DeviceType type, DeviceRuntime* runtime) {
  runtime_of(type).store(runtime, std::memory_order_release);
}

Device numbered_device(std::int64_t number) {
  DeviceRuntime* const devices = device_runtime(DeviceType::Cuda);
  if (!devices || devices->device_count() == 0)
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Cannot access device {}: a number means an accelerator, and there is none. Name 'cpu' "
                              "instead.",
                              number));
  if (number < 0) throw OpError(ErrorKind::Runtime, "Device index must not be negative");
  const std::string text = fmt::format("cuda:{}", number);
  if (const std::optional<Device> d = parse_device(text)) return *d;
  throw OpError(ErrorKind::Runtime, fmt::format("CUDA error: invalid device ordinal: there is no '{}'", text));
}

}  // namespace md
