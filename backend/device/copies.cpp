// One function of the driver for each pair of places.
#include "backend/device/copies.h"

#include <cstring>
#include <optional>

#include "backend/device/context.h"
#include "backend/device/events.h"
#include "backend/device/pinned.h"
#include "backend/device/replay.h"
#include "backend/device/streams.h"
#include "ir/run/long_work.h"
#include "ir/tensor/readable.h"

namespace md::device {
namespace {

Address address(const void* p) { return reinterpret_cast<Address>(p); }
int ordinal(Device d) { return d.index < 0 ? current_device() : d.index; }

// The host's side is free to be changed, or read, when this returns, unless it is pinned memory of ours and the caller
// is content: of other memory nobody knows when it goes away.
void finish_copy(const void* host, int device, StreamNumber stream, bool may_return_early) {
  if (may_return_early && note_pinned_copy(host, device, stream)) return;
  synchronize_stream(device, stream);
}

void copy_between_devices(Address to, int to_device, Address from, int from_device, std::size_t bytes) {
  const StreamNumber source = current_stream(from_device), target = current_stream(to_device);
  order_streams(from_device, source, to_device, target);  // what is there now may still be in use
  DeviceState& there = use_device(to_device);
  DeviceState& here = use_device(from_device);
  check(driver().copy_between(to, there.context, from, here.context, bytes, here.streams->at(source).handle),
        "cuMemcpyPeerAsync", from_device, source);
  order_streams(to_device, target, from_device, source);
}

}  // namespace

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
                bool may_return_early) {
  if (!bytes) return;
  if (to_device.is_readable() && from_device.is_readable()) {
    std::memmove(to, from, bytes);
    return;
  }
  const int target = ordinal(to_device), source = ordinal(from_device);
  if (!to_device.is_readable() && !from_device.is_readable() && target != source)
    return copy_between_devices(address(to), target, address(from), source, bytes);
  const int device = to_device.is_readable() ? source : target;
  DeviceState& state = use_device(device);
  const StreamNumber stream = current_stream(device);
  if (!to_device.is_readable() && !from_device.is_readable()) {
    const std::uint64_t words[] = {address(to), address(from), bytes};
    if (keep(device, stream, {.kind = KeptStep::Kind::Copy}, words)) return;
  }
  const Handle at = state.streams->at(stream).handle;
  const Driver& d = driver();
  std::optional<HostLockReleased> others;
  if (!may_return_early && CopyMeanwhile::is_on()) others.emplace();
  if (from_device.is_readable()) {
    check(d.copy_to_device(address(to), from, bytes, at), "cuMemcpyHtoDAsync", device, stream);
    finish_copy(from, device, stream, may_return_early);
  } else if (to_device.is_readable()) {
    check(d.copy_to_host(to, address(from), bytes, at), "cuMemcpyDtoHAsync", device, stream);
    finish_copy(to, device, stream, may_return_early);
  } else {
    check(d.copy_within(address(to), address(from), bytes, at), "cuMemcpyDtoDAsync", device, stream);
  }
}

void fill_bytes(void* to, int device, unsigned char byte, std::size_t bytes) {
  if (!bytes) return;
  DeviceState& state = use_device(device);
  const StreamNumber stream = current_stream(device);
  const std::uint64_t words[] = {address(to), byte, bytes};
  if (keep(device, stream, {.kind = KeptStep::Kind::Fill}, words)) return;
  check(driver().set_bytes(address(to), byte, bytes, state.streams->at(stream).handle), "cuMemsetD8Async", device,
        stream);
}

}  // namespace md::device
