// The functions that tell of devices.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "devices.h"
#include "entry.h"

namespace emulated {
namespace {

constexpr int kHighestAttribute = 140;

// What all devices have; of attributes that are neither here nor below 0.
constexpr struct {
  int attribute, value;
} kOfAll[] = {
    {1, 1024},                                       // threads of a block
    {2, 1024},                                       // its extents
    {3, 1024},        {4, 64},     {5, 2147483647},  // extents of a grid
    {6, 65535},       {7, 65535},  {8, 48 * 1024},   // shared memory of a block, not opted in
    {9, 64 * 1024},                                  // constant memory
    {10, 32},                                        // threads of a warp
    {11, 2147483647},                                // pitch
    {12, 65536},                                     // registers of a block
    {14, 512},                                       // alignment of textures
    {15, 1},                                         // copies while kernels run
    {19, 1},                                         // memory of the host can be mapped
    {31, 1},                                         // kernels beside each other
    {40, 2},                                         // copy engines
    {41, 1},                                         // one space of addresses
    {78, 1},                                         // priorities of streams
    {79, 1},                                         // L1 caches
    {80, 1},          {82, 65536},                   // registers of a multiprocessor
    {90, 1},                                         // preemption
    {99, 1},                                         // memory of the host can be registered
    {115, 1},                                        // pools
};

// -1: the driver knows no such attribute.
std::int64_t attribute_of(const Device& device, int attribute) {
  const Generation& has = *device.generation;
  for (const auto& row : kOfAll) {
    if (row.attribute == attribute) return row.value;
  }
  switch (attribute) {
    case 13:
      return has.clock_khz;
    case 16:
      return has.multiprocessors;
    case 33:
      return device.ordinal + 1;  // PCI bus
    case 36:
      return has.memory_clock_khz;
    case 37:
      return has.memory_bus_bits;
    case 38:
      return has.l2_bytes;
    case 39:
      return has.threads_per_multiprocessor;
    case 75:
      return device.setting.major;
    case 76:
      return device.setting.minor;
    case 81:
      return has.shared_per_multiprocessor;
    case 87:
      return device.capability() % 10 == 0 ? 2 : 32;  // single to double precision
    case 97:
      return has.shared_per_block_optin;
    case 106:
      return has.blocks_per_multiprocessor;
    case 111:
      return has.shared_reserved;
    default:
      return attribute > 0 && attribute <= kHighestAttribute ? 0 : -1;
  }
}

}  // namespace
}  // namespace emulated

EMULATED_API(cuDeviceGetCount, Driver, int* count) {
  check(count);
  *count = static_cast<int>(devices().size());
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGet, Driver, CUdevice* device, int ordinal) {
  check(device);
  *device = device_at(ordinal).ordinal;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetName, Driver, char* name, int bytes, CUdevice device) {
  check(name && bytes > 0);
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", device_at(device).name.c_str());
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetUuid_v2, Driver, CUuuid* uuid, CUdevice device) {
  check(uuid);
  *uuid = device_at(device).uuid;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetUuid, Driver, CUuuid* uuid, CUdevice device) {
  check(uuid);
  *uuid = device_at(device).uuid;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceTotalMem_v2, Driver, std::size_t* bytes, CUdevice device) {
  check(bytes);
  *bytes = device_at(device).setting.memory;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetAttribute, Driver, int* value, int attribute, CUdevice device) {
  check(value);
  const std::int64_t found = attribute_of(device_at(device), attribute);
  check(found >= 0);
  *value = static_cast<int>(found);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceComputeCapability, Driver, int* major, int* minor, CUdevice device) {
  check(major && minor);
  *major = device_at(device).setting.major;
  *minor = device_at(device).setting.minor;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetPCIBusId, Driver, char* id, int bytes, CUdevice device) {
  check(id && bytes > 0);
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device_at(device).ordinal + 1);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceCanAccessPeer, Driver, int* can, CUdevice device, CUdevice other) {
  check(can);
  device_at(device);
  device_at(other);
  *can = 0;  // copies go between devices, kernels stay at home
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetP2PAttribute, Driver, int* value, int attribute, CUdevice from, CUdevice to) {
  check(value && attribute >= 1 && attribute <= 4);
  check(device_at(from).ordinal != device_at(to).ordinal, CUDA_ERROR_INVALID_DEVICE);
  *value = 0;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxEnablePeerAccess, Context, CUcontext, unsigned) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; }
EMULATED_API(cuCtxDisablePeerAccess, Context, CUcontext) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; }
