// The functions that tell of devices.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "devices.h"
#include "entry.h"

namespace emulated {
namespace {

// Numbers of the attributes that are asked for; -1: the driver knows no such attribute.
std::int64_t attribute_of(const Device& device, int attribute) {
  const Generation& has = *device.generation;
  switch (attribute) {
    case 1:
      return 1024;  // threads of a block
    case 2:
    case 3:
      return 1024;  // its extents
    case 4:
      return 64;
    case 5:
      return 2147483647;  // extents of a grid
    case 6:
    case 7:
      return 65535;
    case 8:
      return 48 * 1024;  // shared memory of a block, not opted in
    case 9:
      return 64 * 1024;  // constant memory
    case 10:
      return 32;  // threads of a warp
    case 11:
      return 2147483647;  // pitch
    case 12:
    case 82:
      return 65536;  // registers of a block; of a multiprocessor
    case 13:
      return has.clock_khz;
    case 14:
      return 512;  // alignment of textures
    case 15:
    case 19:
    case 31:
    case 41:
    case 78:
      return 1;  // overlap, mapping, concurrent kernels, one address space, priorities
    case 16:
      return has.multiprocessors;
    case 17:
    case 18:
    case 20:
    case 32:
    case 35:
      return 0;  // timeout, integrated, compute mode, ECC, TCC
    case 33:
      return device.ordinal + 1;  // PCI bus
    case 34:
    case 50:
      return 0;
    case 36:
      return has.memory_clock_khz;
    case 37:
      return has.memory_bus_bits;
    case 38:
      return has.l2_bytes;
    case 39:
      return has.threads_per_multiprocessor;
    case 40:
      return 2;  // copy engines
    case 75:
      return device.setting.major;
    case 76:
      return device.setting.minor;
    case 79:
    case 80:
      return 1;  // L1 caches
    case 81:
      return has.shared_per_multiprocessor;
    case 83:
    case 84:
    case 85:
    case 86:
      return 0;  // managed memory, boards, atomics of the host
    case 87:
      return device.capability() % 10 == 0 ? 2 : 32;  // single to double precision
    case 88:
    case 89:
      return 0;
    case 90:
    case 95:
      return 1;  // preemption, cooperative launches
    case 91:
      return 0;  // the host's address is not the device's
    case 92:
    case 93:
    case 94:
      return 0;
    case 96:
      return 0;
    case 97:
      return has.shared_per_block_optin;
    case 98:
      return 0;
    case 99:
      return 1;  // memory of the host can be registered
    case 100:
    case 101:
    case 102:
    case 103:
    case 104:
    case 105:
      return 0;
    case 106:
      return has.blocks_per_multiprocessor;
    case 108:
    case 109:
      return 0;
    case 111:
      return has.shared_reserved;
    case 115:
      return 1;  // pools
    default:
      return attribute > 0 && attribute <= 140 ? 0 : -1;
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
