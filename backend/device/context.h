// The devices in use: the context of each, which device a thread works with, and errors of the driver's calls.
#pragma once

#include <memory>
#include <string>

#include "backend/device/driver.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

class MemoryCache;
class Streams;

// What there is of one device, from its first use to the end of the process.
struct DeviceState {
  int ordinal = 0;
  int number = 0;  // the driver's
  Handle context = nullptr;
  DeviceProperties properties;
  MemoryCache* memory = nullptr;
  Streams* streams = nullptr;
};

// Makes the device's context the thread's. Throws OpError(Device) for an ordinal that there is not, and what driver()
// throws.
DeviceState& use_device(int ordinal);
// Null if the device was never used, or the driver may not be called any more. Leaves the thread's context alone.
DeviceState* device_in_use(int ordinal) noexcept;

int current_device();  // of the thread
void set_current_device(int ordinal);

// Throws OpError(Device), which names the driver's function; for an error that lasts also the kernel that was launched
// last on the stream, or on the device if `stream` is negative.
void check(Code code, const char* function, int device, StreamNumber stream = -1);
std::string error_text(Code code, const char* function, int device, StreamNumber stream = -1);  // what it says

DeviceProperties ask_properties(int number);

}  // namespace md::device
