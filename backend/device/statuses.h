// What kernels find wrong while the host has gone on: each launch that may fail has a word of its own in memory that
// both sides see, looked at when the host waits, and, some of them, at later launches.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/device/driver.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

// A kernel writes `details` first, `code` last.
struct KernelStatus {
  std::int32_t code = 0;  // 0: nothing is wrong
  std::int32_t unused = 0;
  std::int64_t details[7] = {};
};
static_assert(sizeof(KernelStatus) == 64);

// Throws the error that the status means.
using RaiseStatus = void (*)(const KernelStatus& status, const char* kernel);

// For kernels of which code 1 alone is known: an operation of the body failed.
[[noreturn]] void raise_failed_body(const KernelStatus& status, const char* kernel);

struct StatusPlace {
  KernelStatus* host = nullptr;
  Address address = 0;  // what the kernel is given
};

struct AwaitedStatus {
  StatusPlace place;
  RaiseStatus raise;
  const char* kernel;  // lives for ever
  std::uint64_t number = 0;
};

class StatusRoom {
 public:
  explicit StatusRoom(int device) : device_(device) {}
  StatusRoom(const StatusRoom&) = delete;

  // A word for the next launch on the stream, looked at until the stream is synchronised. Throws what earlier kernels
  // there have found wrong, as far as it is seen by now.
  Address expect(StreamNumber stream, RaiseStatus raise, const char* kernel);
  // Before the stream, or with a negative number the whole device, is waited for, and after it. Throws the first of
  // what is found.
  std::uint64_t mark();
  void report(StreamNumber stream, std::uint64_t mark);

  // Launches on the stream are noted for a captured graph from here on: their words stay theirs.
  void begin_capture(StreamNumber stream);
  std::vector<AwaitedStatus> end_capture();
  void replayed(StreamNumber stream, const std::shared_ptr<const std::vector<AwaitedStatus>>& words);
  void give_back(const std::vector<AwaitedStatus>& words) noexcept;

 private:
  struct OfStream {
    StreamNumber stream;
    std::deque<AwaitedStatus> awaited;
    std::vector<std::shared_ptr<const std::vector<AwaitedStatus>>> replayed;
  };
  static constexpr std::size_t kMost = 1024;  // awaited on a stream
  OfStream& of(StreamNumber stream);
  StatusPlace take();

  const int device_;
  std::mutex lock_;
  std::vector<StatusPlace> spare_;
  std::deque<OfStream> streams_;
  std::uint64_t next_ = 1;
  StreamNumber captured_ = -1;
  std::vector<AwaitedStatus> of_capture_;
};

}  // namespace md::device
