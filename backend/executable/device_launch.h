// A loop nest on a GPU with all sizes known: loaded, and ready to be launched with addresses.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/device/modules.h"
#include "backend/llvm/gpu_kernel.h"

namespace md {

class DeviceLaunch {
 public:
  // Gives the kernel to the driver. `line`: for errors, where in the program it comes from, or empty. Throws
  // OpError(Device).
  DeviceLaunch(const GpuKernel& kernel, int device, const std::function<std::int64_t(Size)>& value,
               const std::string& line);
  // On the device's current stream, of the thread. A buffer that the kernel takes by value is read here. What a kernel
  // that can fail finds wrong is reported when the stream is synchronised.
  void run(std::span<void* const> buffers) const;

 private:
  std::shared_ptr<device::DeviceModule> module_;
  device::DeviceFunction* function_ = nullptr;
  const char* const line_;
  LaunchShape shape_;
  std::vector<std::uint64_t> words_;  // addresses and elements are filled in for each run
  const std::vector<std::size_t> value_bytes_;
  int device_;
  bool can_fail_;
};

}  // namespace md
