// A kernel is made for the lowest capability that has its instructions; a device runs the highest of those up to its
// own.
#include "backend/device_blocks/tensor_cores.h"

#include <fmt/format.h>

#include "backend/device/recorder.h"
#include "backend/device_blocks/device_call.h"
#include "ir/tensor/device_runtime.h"

namespace md::device_blocks {

static DeviceProperties properties_of(Device device) {
  if (const device::Recorder* const recorder = device::current_recorder()) return recorder->properties();
  return device_runtime(device.type)->properties(device.index);
}

std::int64_t multiprocessors_of(Device device) { return properties_of(device).multiprocessors; }

std::string tensor_core_entry(std::string_view kernel, DType t, Device device) {
  const DeviceProperties properties = properties_of(device);
  const int capability = properties.major * 10 + properties.minor;
  for (const int level : {80, 75}) {
    const std::string entry = fmt::format("{}_{}_sm_{}", kernel, info(t).short_name, level);
    if (level <= capability && has_kernel(entry)) return entry;
  }
  return {};
}

}  // namespace md::device_blocks
