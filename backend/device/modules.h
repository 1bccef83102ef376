// Kernels in a device: texts in PTX, or objects, given to the driver once for each device and kept while somebody uses
// them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/device/driver.h"

namespace md::device {

class DeviceModule;

struct DeviceFunction {
  Handle handle = nullptr;
  DeviceModule* module = nullptr;  // which it is a part of
  const char* name = "";           // lives for ever
  int device = 0;
  std::atomic<std::size_t> shared_allowed{48 << 10};  // of a block, without asking for more
};

class DeviceModule : public std::enable_shared_from_this<DeviceModule> {
 public:
  DeviceModule(Handle handle, int device) : handle_(handle), device_(device) {}
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;
  // Throws OpError(Device) if there is none of that name.
  DeviceFunction& function(const std::string& name);

 private:
  const Handle handle_;
  const int device_;
  std::mutex lock_;
  std::unordered_map<std::string, std::unique_ptr<DeviceFunction>> functions_;
};

// The same code gives the same module. Throws OpError(Device) with what the driver's assembler says.
std::shared_ptr<DeviceModule> load_module(const std::string& code, int device);

const char* kept_name(std::string_view text);  // a copy that lives for ever: for notes of launches

}  // namespace md::device
