// A kind of device beside the CPU: what there is, its memory, streams and events. A backend installs one; everything
// above it asks here. Unless said otherwise a function throws OpError(Runtime) with the driver's word for what is
// wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ir/tensor/tensor.h"

namespace md {

struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  // of the compute capability
  std::size_t total_memory = 0, shared_memory_per_block = 0, shared_memory_per_multiprocessor = 0, l2_cache = 0;
  int multiprocessors = 0, warp = 0, threads_per_block = 0, threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  std::size_t shared_memory_at_most = 0;  // of a block, where it asks for more
  int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  std::string uuid;
  bool integrated = false;
};

// In bytes. `allocated` is what tensors hold, `reserved` what the driver has given, with the cache.
struct DeviceMemory {
  std::size_t allocated = 0, most_allocated = 0, reserved = 0, most_reserved = 0;
  std::size_t free = 0, total = 0;  // by the driver
  std::int64_t allocations = 0, frees = 0, retries = 0, out_of_memory = 0;
  std::int64_t segments = 0;  // pieces that the driver has given
};

// The streams of a device are numbered; 0 is its default stream. Events are numbered over all devices.
using StreamNumber = std::int64_t;
using EventNumber = std::int64_t;

// Work of a stream that was kept instead of run, to be run as a whole.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void replay(StreamNumber stream) = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  // --- Devices
  virtual int device_count() = 0;             // 0 without a driver; throws nothing
  virtual std::string why_unavailable() = 0;  // empty where there are devices; throws nothing
  virtual int driver_version() = 0;           // 12040 for 12.4; 0 without one
  virtual int current_device() = 0;           // of the thread
  virtual void set_current_device(int device) = 0;
  virtual DeviceProperties properties(int device) = 0;
  virtual void synchronize(int device) = 0;  // reports what kernels have found wrong meanwhile

  // --- Memory: ordered by the current stream of the device
  virtual Ref<Storage> allocate(std::size_t bytes, int device) = 0;  // throws OpError(Memory) with the sizes
  // Either side may be the CPU. With `may_return_early` the host may go on before the copy is done, where its side is
  // pinned.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
                    bool may_return_early) = 0;
  virtual void fill(void* to, int device, unsigned char byte, std::size_t bytes) = 0;
  virtual Ref<Storage> allocate_pinned(std::size_t bytes) = 0;  // memory of the host
  virtual bool is_pinned(const void* host) = 0;
  virtual void empty_pinned_cache() = 0;
  virtual DeviceMemory memory(int device) = 0;
  virtual void reset_peaks(int device) = 0;
  virtual void empty_cache() = 0;
  virtual void set_memory_fraction(double fraction, int device) = 0;
  // The memory is used by another stream than it was allocated on: it is not handed out again before that is done.
  virtual void record_stream(const Storage& storage, StreamNumber stream) = 0;

  // --- Streams and events
  virtual StreamNumber current_stream(int device) = 0;  // of the thread
  virtual void set_current_stream(int device, StreamNumber stream) = 0;
  virtual StreamNumber make_stream(int device, int priority) = 0;   // from a pool; never destroyed
  virtual StreamNumber adopt_stream(int device, void* handle) = 0;  // one that somebody else has made
  virtual int stream_priority(int device, StreamNumber stream) = 0;
  virtual std::pair<int, int> stream_priorities(int device) = 0;  // the least, the greatest: a lower number
  virtual void* stream_handle(int device, StreamNumber stream) = 0;
  virtual bool stream_is_done(int device, StreamNumber stream) = 0;
  virtual void synchronize_stream(int device, StreamNumber stream) = 0;
  virtual void wait_event(int device, StreamNumber stream, EventNumber event) = 0;
  virtual EventNumber make_event(bool timed, bool blocking) = 0;
  virtual void destroy_event(EventNumber event) = 0;
  virtual void record_event(EventNumber event, int device, StreamNumber stream) = 0;
  virtual bool event_is_done(EventNumber event) = 0;
  virtual void synchronize_event(EventNumber event) = 0;
  virtual double milliseconds_between(EventNumber begin, EventNumber end) = 0;

  // --- Graphs: what is given to the stream, which is not the default one, is kept until the end. Memory that is
  // allocated for the stream meanwhile is the graph's as long as that lives; with `shares`, that of another graph of
  // the device, the two never run at the same time. One capture at a time on a device.
  virtual void begin_capture(int device, StreamNumber stream, const DeviceGraph* shares) = 0;
  virtual std::shared_ptr<DeviceGraph> end_capture(int device, StreamNumber stream) = 0;
  virtual bool is_capturing(int device, StreamNumber stream) = 0;
};

// Null if no backend has installed one.
DeviceRuntime* device_runtime(DeviceType type);
void set_device_runtime(DeviceType type, DeviceRuntime* runtime);  // lives for ever

// The CUDA device of a number; throws OpError(Runtime) for negative ones and where there is no device.
Device numbered_device(std::int64_t number);

}  // namespace md
