// Copies and fills, in the order of streams.
#include <cstring>

#include "../races.h"
#include "graphs.h"
#include "host_memory.h"
#include "record.h"
#include "streams.h"

namespace emulated {
namespace {

// One side of a copy.
struct Side {
  Device* device = nullptr;  // null: the host
  Address address = 0;
  std::shared_ptr<PinnedBlock> pinned;
  void* host() const { return reinterpret_cast<void*>(address); }
};

enum class Place { Host, Device, Any };

// Says what hardware only refuses.
[[noreturn]] void refuse(const char* function, Address address, std::size_t bytes, const char* why) {
  char text[200];
  std::snprintf(text, sizeof text, "%s of %zu bytes at 0x%llx: %s", function, bytes,
                static_cast<unsigned long long>(address), why);
  add_finding("wrong pointer", text, CUDA_ERROR_INVALID_VALUE);
  throw Failure{CUDA_ERROR_INVALID_VALUE};
}

Side side_of(const char* function, Address address, std::size_t bytes, Place place) {
  Side side{device_of(address), address, nullptr};
  if (place == Place::Host && side.device)
    refuse(function, address, bytes, "an address of a device, and not of the host");
  if (place == Place::Device && !side.device) refuse(function, address, bytes, "no address of a device");
  if (side.device) {
    const auto found = side.device->memory->find(address);
    if (!found) refuse(function, address, bytes, "nothing is allocated there");
    if (found->freed) refuse(function, address, bytes, "the memory was freed");
    if (!found->contains(address, bytes)) refuse(function, address, bytes, "the allocation ends before");
  } else {
    if (!address) refuse(function, address, bytes, "a null pointer");
    side.pinned = pinned_block(side.host(), bytes);
  }
  return side;
}

CUresult lost(const std::string& what, const Side& side, std::size_t bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "%s of %zu bytes at 0x%llx: the memory was freed before the copy's turn came",
                what.c_str(), bytes, static_cast<unsigned long long>(side.address));
  add_finding("use after free", text, CUDA_ERROR_ILLEGAL_ADDRESS);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

// What nobody has written reads as something that no program expects: zeros would hide it.
void spoil_unwritten(std::byte* to, const Side& from, std::size_t bytes) {
  const std::uint8_t* written = from.device->memory->written(from.address);
  for (std::size_t i = 0; i < bytes;) {
    const void* found = std::memchr(written + i, 0, bytes - i);
    if (!found) return;
    for (i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - written); i < bytes && !written[i];
         ++i) {
      to[i] = std::byte{0xa5};
    }
  }
}

// Whether the order of streams lets the bytes of a side be read or written now. What the host waits for needs no marks:
// all that comes is after it.
bool in_order(const std::string& what, const Side& side, std::size_t bytes, bool writes, bool waited_for) {
  constexpr std::size_t kMostMarked = std::size_t{1} << 22;
  static const bool wanted = Checks::from_environment().races;
  if (!wanted || !side.device || !order_of_work) return true;
  CellPages& cells = side.device->memory->cells();
  const bool marks = !waited_for && bytes <= kMostMarked;
  const CellPages::Begun begun = cells.begin(*order_of_work, what, marks);
  if (begun.alone && cells.crowd() == begun.crowd && !marks) return true;
  std::string other;
  if (cells.touch(side.device->memory->offset(side.address), bytes, writes, begun, *order_of_work, marks, other))
    return true;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s of stream %zu %s %zu bytes at 0x%llx that %s has touched, which the stream does not wait for",
                what.c_str(), order_of_work->stream, writes ? "writes" : "reads", bytes,
                static_cast<unsigned long long>(side.address), other.c_str());
  add_finding("race of streams", text, CUDA_ERROR_LAUNCH_FAILED);
  return false;
}

CUresult copy_now(const std::string& what, const Side& to, const Side& from, const void* kept, std::size_t bytes,
                  bool waited_for = false) {
  if (!in_order(what, from, bytes, false, waited_for) || !in_order(what, to, bytes, true, waited_for))
    return CUDA_ERROR_LAUNCH_FAILED;
  if (to.device && from.device) {
    if (to.device->memory->copy(to.address, from.address, bytes, from.device->memory.get())) return CUDA_SUCCESS;
    return lost(what, to.device->memory->is_live(to.address, bytes) ? from : to, bytes);
  }
  if (to.device) {
    return to.device->memory->write(to.address, kept ? kept : from.host(), bytes) ? CUDA_SUCCESS
                                                                                  : lost(what, to, bytes);
  }
  if (from.device) {
    if (!from.device->memory->read(to.host(), from.address, bytes)) return lost(what, from, bytes);
    spoil_unwritten(static_cast<std::byte*>(to.host()), from, bytes);
    return CUDA_SUCCESS;
  }
  std::memmove(to.host(), kept ? kept : from.host(), bytes);
  return CUDA_SUCCESS;
}

// When the call returns: hardware reads unpinned memory before that, and waits for the end of copies into it.
enum class Returns { Early, WhenDone };

CUresult copy(const char* function, CUdeviceptr to_address, CUdeviceptr from_address, std::size_t bytes, Place to_place,
              Place from_place, CUstream handle, Returns returns) {
  if (returns == Returns::WhenDone) refuse_while_capturing();
  if (!bytes) return CUDA_SUCCESS;
  const Side to = side_of(function, to_address, bytes, to_place),
             from = side_of(function, from_address, bytes, from_place);
  const auto stream = stream_of(handle);
  const bool unpinned = (!to.device && !to.pinned) || (!from.device && !from.pinned);
  std::shared_ptr<std::vector<std::byte>> kept;
  if (returns == Returns::Early && unpinned) {
    refuse_captured(*stream);
    if (!from.device && !from.pinned) {
      const auto* begin = static_cast<const std::byte*>(from.host());
      kept = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    }
  }
  Work work{NodeKind::Copy, function, {}, {}};
  if (to.pinned) work.host.push_back(to.pinned);
  if (from.pinned) work.host.push_back(from.pinned);
  const bool between_devices = to.device && from.device;
  const bool waits = (returns == Returns::WhenDone && !between_devices) || (!to.device && !to.pinned);
  work.run = [what = work.what, to, from, kept, bytes, waits] {
    return copy_now(what, to, from, kept ? kept->data() : nullptr, bytes, waits);
  };
  if (waits) return enqueue_and_wait(*stream, std::move(work));
  enqueue(*stream, std::move(work));
  return CUDA_SUCCESS;
}

CUdeviceptr address_of(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

CUresult fill(const char* function, CUdeviceptr address, std::uint32_t pattern, std::size_t width, std::size_t count,
              CUstream handle) {
  check(address % width == 0);
  if (!count) return CUDA_SUCCESS;
  enqueue(*stream_of(handle), fill_work(function, address, pattern, width, count));
  return CUDA_SUCCESS;
}

}  // namespace

Work fill_work(const char* function, CUdeviceptr address, std::uint32_t pattern, std::size_t width, std::size_t count) {
  check(count <= (std::size_t{1} << 48));
  const Side side = side_of(function, address, width * count, Place::Device);
  Work work{NodeKind::Fill, function, {}, {}};
  work.run = [what = work.what, side, pattern, width, count] {
    if (!in_order(what, side, width * count, true, false)) return CUDA_ERROR_LAUNCH_FAILED;
    return side.device->memory->fill(side.address, pattern, width, count) ? CUDA_SUCCESS
                                                                          : lost(what, side, width * count);
  };
  return work;
}

Work copy_work(const char* function, CUdeviceptr to_address, CUdeviceptr from_address, std::size_t bytes) {
  const Side to = side_of(function, to_address, bytes, Place::Device),
             from = side_of(function, from_address, bytes, Place::Device);
  Work work{NodeKind::Copy, function, {}, {}};
  work.run = [what = work.what, to, from, bytes] { return copy_now(what, to, from, nullptr, bytes); };
  return work;
}

}  // namespace emulated

EMULATED_STREAM_API(cuMemcpy, _ptds, Context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy("cuMemcpy", to, from, bytes, Place::Any, Place::Any, nullptr, Returns::WhenDone);
}

EMULATED_STREAM_API(cuMemcpyAsync, _ptsz, Context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                    CUstream stream) {
  return copy("cuMemcpyAsync", to, from, bytes, Place::Any, Place::Any, stream, Returns::Early);
}

EMULATED_STREAM_API(cuMemcpyHtoD_v2, _ptds, Context, CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy("cuMemcpyHtoD", to, address_of(from), bytes, Place::Device, Place::Host, nullptr, Returns::WhenDone);
}

EMULATED_STREAM_API(cuMemcpyHtoDAsync_v2, _ptsz, Context, CUdeviceptr to, const void* from, std::size_t bytes,
                    CUstream stream) {
  return copy("cuMemcpyHtoDAsync", to, address_of(from), bytes, Place::Device, Place::Host, stream, Returns::Early);
}

EMULATED_STREAM_API(cuMemcpyDtoH_v2, _ptds, Context, void* to, CUdeviceptr from, std::size_t bytes) {
  return copy("cuMemcpyDtoH", address_of(to), from, bytes, Place::Host, Place::Device, nullptr, Returns::WhenDone);
}

EMULATED_STREAM_API(cuMemcpyDtoHAsync_v2, _ptsz, Context, void* to, CUdeviceptr from, std::size_t bytes,
                    CUstream stream) {
  return copy("cuMemcpyDtoHAsync", address_of(to), from, bytes, Place::Host, Place::Device, stream, Returns::Early);
}

EMULATED_STREAM_API(cuMemcpyDtoD_v2, _ptds, Context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy("cuMemcpyDtoD", to, from, bytes, Place::Device, Place::Device, nullptr, Returns::WhenDone);
}

EMULATED_STREAM_API(cuMemcpyDtoDAsync_v2, _ptsz, Context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                    CUstream stream) {
  return copy("cuMemcpyDtoDAsync", to, from, bytes, Place::Device, Place::Device, stream, Returns::Early);
}

EMULATED_STREAM_API(cuMemcpyPeer, _ptds, Context, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, std::size_t bytes) {
  handles<Context>().get(to_context, CUDA_ERROR_INVALID_CONTEXT);
  handles<Context>().get(from_context, CUDA_ERROR_INVALID_CONTEXT);
  return copy("cuMemcpyPeer", to, from, bytes, Place::Device, Place::Device, nullptr, Returns::WhenDone);
}

EMULATED_STREAM_API(cuMemcpyPeerAsync, _ptsz, Context, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, std::size_t bytes, CUstream stream) {
  handles<Context>().get(to_context, CUDA_ERROR_INVALID_CONTEXT);
  handles<Context>().get(from_context, CUDA_ERROR_INVALID_CONTEXT);
  return copy("cuMemcpyPeerAsync", to, from, bytes, Place::Device, Place::Device, stream, Returns::Early);
}

EMULATED_STREAM_API(cuMemsetD8_v2, _ptds, Context, CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill("cuMemsetD8", to, value, 1, count, nullptr);
}

EMULATED_STREAM_API(cuMemsetD16_v2, _ptds, Context, CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill("cuMemsetD16", to, value, 2, count, nullptr);
}

EMULATED_STREAM_API(cuMemsetD32_v2, _ptds, Context, CUdeviceptr to, unsigned value, std::size_t count) {
  return fill("cuMemsetD32", to, value, 4, count, nullptr);
}

EMULATED_STREAM_API(cuMemsetD8Async, _ptsz, Context, CUdeviceptr to, unsigned char value, std::size_t count,
                    CUstream stream) {
  return fill("cuMemsetD8Async", to, value, 1, count, stream);
}

EMULATED_STREAM_API(cuMemsetD16Async, _ptsz, Context, CUdeviceptr to, unsigned short value, std::size_t count,
                    CUstream stream) {
  return fill("cuMemsetD16Async", to, value, 2, count, stream);
}

EMULATED_STREAM_API(cuMemsetD32Async, _ptsz, Context, CUdeviceptr to, unsigned value, std::size_t count,
                    CUstream stream) {
  return fill("cuMemsetD32Async", to, value, 4, count, stream);
}
