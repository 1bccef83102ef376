// The functions that allocate memory of devices, at once and in the order of a stream.
#include "graphs.h"
#include "record.h"
#include "streams.h"

namespace emulated {
namespace {

// The device and the piece of its memory that begins at the address; throws if there is none.
Device& holder_of(Address address) {
  Device* device = device_of(address);
  check(device != nullptr);
  const std::lock_guard guard(device->lock);
  const auto found = device->holdings.find(address);
  check(found != device->holdings.end() && !found->second.pinned && !found->second.freeing);
  return *device;
}

CUresult allocate_in_order(CUdeviceptr* to, std::size_t bytes, Pool& pool, CUstream handle) {
  check(to && bytes > 0);
  const auto stream = stream_of(handle);
  refuse_captured(*stream);
  *to = device_at(pool.device).allocate(bytes, stream->context.get(), &pool, false);
  return CUDA_SUCCESS;
}

Pool& pool_of(CUmemoryPool handle) {
  for (const auto& device : devices()) {
    if (reinterpret_cast<Pool*>(handle) == &device->pool) return device->pool;
  }
  return *handles<Pool>().get(handle, CUDA_ERROR_INVALID_VALUE);
}

CUmemoryPool handle_of(Pool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

}  // namespace
}  // namespace emulated

EMULATED_API(cuMemAlloc_v2, Context, CUdeviceptr* to, std::size_t bytes) {
  check(to && bytes > 0);
  refuse_while_capturing();
  const auto context = current_context();
  *to = context->device.allocate(bytes, context.get(), nullptr, false);
  return CUDA_SUCCESS;
}

// Waits for all that was queued, as drivers do.
EMULATED_API(cuMemFree_v2, Context, CUdeviceptr address) {
  refuse_while_capturing();
  if (!address) return CUDA_SUCCESS;
  Device& device = holder_of(address);
  current_context()->synchronize();
  device.release(address);
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemAllocManaged, Context, CUdeviceptr*, std::size_t, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }

EMULATED_API(cuMemGetInfo_v2, Context, std::size_t* free, std::size_t* total) {
  check(free && total);
  Device& device = current_context()->device;
  *free = device.free_bytes();
  *total = device.setting.memory;
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemGetAddressRange_v2, Context, CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) {
  const Device* device = device_of(address);
  check(device != nullptr, CUDA_ERROR_NOT_FOUND);
  const auto found = device->memory->find(address);
  check(found && !found->freed, CUDA_ERROR_NOT_FOUND);
  if (begin) *begin = found->address;
  if (bytes) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuMemAllocAsync, _ptsz, Context, CUdeviceptr* to, std::size_t bytes, CUstream stream) {
  return allocate_in_order(to, bytes, *current_context()->device.current_pool, stream);
}

EMULATED_STREAM_API(cuMemAllocFromPoolAsync, _ptsz, Context, CUdeviceptr* to, std::size_t bytes, CUmemoryPool pool,
                    CUstream stream) {
  return allocate_in_order(to, bytes, pool_of(pool), stream);
}

EMULATED_STREAM_API(cuMemFreeAsync, _ptsz, Context, CUdeviceptr address, CUstream handle) {
  const auto stream = stream_of(handle);
  refuse_captured(*stream);
  Device& device = holder_of(address);
  {
    const std::lock_guard guard(device.lock);
    device.holdings[address].freeing = true;
  }
  enqueue(*stream, {NodeKind::Free,
                    "cuMemFreeAsync",
                    [&device, address] {
                      device.release(address);
                      return CUDA_SUCCESS;
                    },
                    {}});
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetDefaultMemPool, Driver, CUmemoryPool* pool, CUdevice device) {
  check(pool);
  *pool = handle_of(&device_at(device).pool);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceGetMemPool, Driver, CUmemoryPool* pool, CUdevice device) {
  check(pool);
  *pool = handle_of(device_at(device).current_pool);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDeviceSetMemPool, Driver, CUdevice device, CUmemoryPool pool) {
  Pool& chosen = pool_of(pool);
  check(chosen.device == device);
  device_at(device).current_pool = &chosen;
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemPoolCreate, Driver, CUmemoryPool* pool, const CUmemPoolProps* wanted) {
  check(pool && wanted && wanted->allocType == 1 && wanted->location.type == 1);
  check(wanted->handleTypes == 0, CUDA_ERROR_NOT_SUPPORTED);
  auto made = std::make_shared<Pool>();
  made->device = device_at(wanted->location.id).ordinal;
  *pool = handles<Pool>().add<CUmemoryPool>(std::move(made));
  return CUDA_SUCCESS;
}

// Memory that still comes from it keeps it, as nobody can tell the difference.
EMULATED_API(cuMemPoolDestroy, Driver, CUmemoryPool handle) {
  Pool& pool = pool_of(handle);
  Device& device = device_at(pool.device);
  check(&pool != &device.pool);
  if (device.current_pool == &pool) device.current_pool = &device.pool;
  static auto& kept = *new std::vector<std::shared_ptr<Pool>>;
  static std::mutex& lock = *new std::mutex;
  const std::lock_guard guard(lock);
  kept.push_back(handles<Pool>().remove(handle));
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemPoolTrimTo, Driver, CUmemoryPool pool, std::size_t) {
  pool_of(pool);  // nothing is kept back
  return CUDA_SUCCESS;
}

// Attributes: 1 to 3 what may be used again (int), 4 the threshold, 5 to 8 the counts (64 bits).
EMULATED_API(cuMemPoolGetAttribute, Driver, CUmemoryPool handle, int attribute, void* to) {
  check(to && attribute >= 1 && attribute <= 8);
  Pool& pool = pool_of(handle);
  const std::lock_guard guard(device_at(pool.device).lock);
  if (attribute <= 3) {
    *static_cast<int*>(to) = pool.reuse[attribute - 1];
    return CUDA_SUCCESS;
  }
  const std::uint64_t values[] = {pool.release_threshold, pool.used, pool.most_reserved, pool.used, pool.most_used};
  *static_cast<std::uint64_t*>(to) = values[attribute - 4];
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemPoolSetAttribute, Driver, CUmemoryPool handle, int attribute, void* from) {
  check(from && attribute >= 1 && attribute <= 8 && attribute != 5 && attribute != 7);
  Pool& pool = pool_of(handle);
  const std::lock_guard guard(device_at(pool.device).lock);
  if (attribute <= 3) {
    pool.reuse[attribute - 1] = *static_cast<const int*>(from);
  } else if (attribute == 4) {
    pool.release_threshold = *static_cast<const std::uint64_t*>(from);
  } else {
    check(*static_cast<const std::uint64_t*>(from) == 0);  // peaks can only be begun anew
    (attribute == 6 ? pool.most_reserved : pool.most_used) = pool.used;
  }
  return CUDA_SUCCESS;
}

EMULATED_API(cuIpcGetMemHandle, Context, CUipcHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
EMULATED_API(cuIpcOpenMemHandle_v2, Context, CUdeviceptr*, CUipcHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
EMULATED_API(cuIpcCloseMemHandle, Context, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
EMULATED_API(cuIpcGetEventHandle, Context, CUipcHandle*, CUevent) { return CUDA_ERROR_NOT_SUPPORTED; }
EMULATED_API(cuIpcOpenEventHandle, Context, CUevent*, CUipcHandle) { return CUDA_ERROR_NOT_SUPPORTED; }
