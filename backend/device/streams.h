// Streams of a device: numbered, from a pool, with the current one of each thread; and what was launched on each.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "backend/device/driver.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

class StatusRoom;

struct Stream {
  Handle handle = nullptr;  // null: the default stream
  int priority = 0;
  // Of a launch, and if that was a graph all of its kernels; they live for ever.
  struct Launch {
    std::atomic<const char*> kernel{nullptr}, line{nullptr}, graph{nullptr};
  };
  std::array<Launch, 4> launches;  // the last ones, in a ring
  std::atomic<unsigned> launched{0};
  const Launch& back(unsigned n) const {  // 0: the last one
    return launches[(launched.load(std::memory_order_acquire) - 1 - n) % launches.size()];
  }
};

class Streams {
 public:
  explicit Streams(int device);
  Streams(const Streams&) = delete;

  // Throws OpError(Value) if there is none. What this thread has kept back (replay.h) is launched first: its handle is
  // about to be used.
  Stream& at(StreamNumber number);
  StreamNumber make(int priority);    // the device is in use by the thread
  StreamNumber adopt(Handle handle);  // one that somebody else has made
  // In words, the last one first; negative: of the stream used last; empty if there was none.
  std::string last_kernels(StreamNumber number);
  void note_launch(Stream& s, const char* kernel, const char* line, const char* graph = nullptr);
  StatusRoom& statuses() { return *statuses_; }
  int least_priority() const { return least_; }
  int greatest_priority() const { return greatest_; }

 private:
  static constexpr std::size_t kPool = 32;  // of each priority
  struct Pool {
    int priority;
    std::vector<StreamNumber> made;
    std::size_t next = 0;
  };
  const int device_;
  int least_ = 0, greatest_ = 0;
  std::mutex lock_;
  std::deque<Stream> streams_;
  std::vector<Pool> pools_;
  std::atomic<Stream*> last_{nullptr};
  StatusRoom* const statuses_;
};

StreamNumber current_stream(int device);  // of the thread
void set_current_stream(int device, StreamNumber stream);
// Waits, and throws what kernels have found wrong meanwhile.
void synchronize_stream(int device, StreamNumber stream);
bool is_capturing(int device, StreamNumber stream);
// CUDA_LAUNCH_BLOCKING, as it was when the process first asked: each launch is waited for.
bool launches_are_waited_for();

}  // namespace md::device
