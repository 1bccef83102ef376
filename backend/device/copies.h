// Copies of bytes between devices and the host, in the order of the devices' current streams.
#pragma once

#include <cstddef>

#include "registry/device.h"

namespace md::device {

// See DeviceRuntime::copy.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
                bool may_return_early);
void fill_bytes(void* to, int device, unsigned char byte, std::size_t bytes);

}  // namespace md::device
