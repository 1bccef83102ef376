// The runtime of CUDA devices: each question goes to the file that knows.
#include "backend/device/cuda_device.h"

#include "backend/device/context.h"
#include "backend/device/copies.h"
#include "backend/device/events.h"
#include "backend/device/launch.h"
#include "backend/device/memory_cache.h"
#include "backend/device/pinned.h"
#include "backend/device/recorder.h"
#include "backend/device/replay.h"
#include "backend/device/statuses.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"
#include "ir/run/long_work.h"

namespace md {
namespace device {
namespace {

Stream& stream_of(int device, StreamNumber stream) { return use_device(device).streams->at(stream); }

// A block is known by its address, which no other has while the storage lives. Without a driver, or in a forked child,
// nobody can use it again.
void release_block(void*, std::size_t, void* context) {
  auto* const b = static_cast<std::pair<MemoryCache*, MemoryBlock*>*>(context);
  if (is_usable()) b->first->free(b->second);
  delete b;
}

class CudaRuntime final : public DeviceRuntime {
 public:
  int device_count() override { return found().devices; }
  std::string why_unavailable() override { return found().reason; }
  int driver_version() override { return found().version; }
  int current_device() override { return device::current_device(); }
  void set_current_device(int d) override { device::set_current_device(d); }
  DeviceProperties properties(int d) override { return use_device(d).properties; }
  void synchronize(int d) override {
    StatusRoom& statuses = use_device(d).streams->statuses();
    give_kept();
    const std::uint64_t mark = statuses.mark();
    check(driver().context_synchronize(), "cuCtxSynchronize", d);
    statuses.report(-1, mark);
  }

  Ref<Storage> allocate(std::size_t bytes, int d) override {
    const Device place{DeviceType::Cuda, static_cast<std::int8_t>(d)};
    DeviceState& state = use_device(d);
    if (!bytes) return make_ref<Storage>(nullptr, 0, nullptr, nullptr, place);
    MemoryBlock* const b = state.memory->allocate(bytes, device::current_stream(d));
    return make_ref<Storage>(reinterpret_cast<void*>(b->at), bytes, release_block,
                             new std::pair<MemoryCache*, MemoryBlock*>(state.memory, b), place);
  }
  void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
            bool may_return_early) override {
    copy_bytes(to, to_device, from, from_device, bytes, may_return_early);
  }
  void fill(void* to, int d, unsigned char byte, std::size_t bytes) override { fill_bytes(to, d, byte, bytes); }
  Ref<Storage> allocate_pinned(std::size_t bytes) override {
    return device::allocate_pinned(bytes, device::current_device());
  }
  bool is_pinned(const void* host) override { return device::is_pinned(host); }
  void empty_pinned_cache() override {
    if (is_usable()) device::empty_pinned_cache();
  }
  DeviceMemory memory(int d) override { return use_device(d).memory->statistics(); }
  void reset_peaks(int d) override { use_device(d).memory->reset_peaks(); }
  void empty_cache() override {
    for (int d = 0; d < found().devices; ++d)
      if (device_in_use(d)) use_device(d).memory->empty();
  }
  void set_memory_fraction(double fraction, int d) override {
    if (!(fraction >= 0 && fraction <= 1)) {
      throw OpError(ErrorKind::Value,
                    "the fraction of a device's memory is a number from 0 to 1, not " + std::to_string(fraction));
    }
    use_device(d).memory->set_fraction(fraction);
  }
  void record_stream(const Storage& storage, StreamNumber stream) override {
    if (!storage.data()) return;
    use_device(storage.device().index).memory->record_stream(reinterpret_cast<Address>(storage.data()), stream);
  }

  StreamNumber current_stream(int d) override { return device::current_stream(d); }
  void set_current_stream(int d, StreamNumber stream) override { device::set_current_stream(d, stream); }
  StreamNumber make_stream(int d, int priority) override { return use_device(d).streams->make(priority); }
  StreamNumber adopt_stream(int d, void* handle) override { return use_device(d).streams->adopt(handle); }
  int stream_priority(int d, StreamNumber stream) override { return stream_of(d, stream).priority; }
  std::pair<int, int> stream_priorities(int d) override {
    const Streams& streams = *use_device(d).streams;
    return {streams.least_priority(), streams.greatest_priority()};
  }
  void* stream_handle(int d, StreamNumber stream) override { return stream_of(d, stream).handle; }
  bool stream_is_done(int d, StreamNumber stream) override {
    const Code code = driver().stream_query(stream_of(d, stream).handle);
    if (code == kNotReady) return false;
    check(code, "cuStreamQuery", d, stream);
    return true;
  }
  void synchronize_stream(int d, StreamNumber stream) override { device::synchronize_stream(d, stream); }
  void wait_event(int d, StreamNumber stream, EventNumber event) override { device::wait_event(d, stream, event); }
  EventNumber make_event(bool timed, bool blocking) override { return device::make_event(timed, blocking); }
  void destroy_event(EventNumber event) override { device::destroy_event(event); }
  void record_event(EventNumber event, int d, StreamNumber stream) override { device::record_event(event, d, stream); }
  bool event_is_done(EventNumber event) override { return device::event_is_done(event); }
  void synchronize_event(EventNumber event) override { device::synchronize_event(event); }
  double milliseconds_between(EventNumber begin, EventNumber end) override {
    return device::milliseconds_between(begin, end);
  }

  void begin_capture(int d, StreamNumber stream, const DeviceGraph* shares) override {
    device::begin_capture(d, stream, shares);
  }
  std::shared_ptr<DeviceGraph> end_capture(int d, StreamNumber stream) override {
    return device::end_capture(d, stream);
  }
  bool is_capturing(int d, StreamNumber stream) override { return device::is_capturing(d, stream); }
};

Ref<Storage> allocate_on_device(std::size_t bytes, Device where) {
  if (Recorder* const recorder = current_recorder()) [[unlikely]]
    return recorder->allocate(bytes);
  DeviceRuntime& runtime = *device_runtime(DeviceType::Cuda);
  return runtime.allocate(bytes, where.index < 0 ? current_device() : where.index);
}

}  // namespace
}  // namespace device

void install_cuda() {
  static device::CudaRuntime* const runtime = [] {
    auto* const r = new device::CudaRuntime;
    set_device_runtime(DeviceType::Cuda, r);
    set_allocator(DeviceType::Cuda, &device::allocate_on_device);
    set_before_release(&device::give_kept);
    return r;
  }();
  (void)runtime;
}

}  // namespace md
