// Pools of streams by priority.
#include "backend/device/streams.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "backend/device/context.h"
#include "backend/device/replay.h"
#include "backend/device/statuses.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

thread_local std::array<StreamNumber, 128> streams_of_thread;

}  // namespace

Streams::Streams(int device) : device_(device), statuses_(new StatusRoom(device)) {
  streams_.emplace_back();
  if (driver().stream_priorities(&least_, &greatest_) != 0) least_ = greatest_ = 0;
}

Stream& Streams::at(StreamNumber number) {
  give_kept();
  const std::lock_guard guard(lock_);
  if (number < 0 || number >= static_cast<StreamNumber>(streams_.size()))
    throw OpError(ErrorKind::Value, "cuda:" + std::to_string(device_) + " has no stream " + std::to_string(number));
  return streams_[static_cast<std::size_t>(number)];
}

StreamNumber Streams::make(int priority) {
  constexpr unsigned kApartFromDefault = 1;
  priority = std::clamp(priority, greatest_, least_);  // lower numbers go first
  const std::lock_guard guard(lock_);
  auto pool = std::ranges::find(pools_, priority, &Pool::priority);
  if (pool == pools_.end()) pool = pools_.insert(pools_.end(), Pool{priority, {}, 0});
  if (pool->made.size() < kPool) {
    Handle handle = nullptr;
    check(driver().stream_create(&handle, kApartFromDefault, priority), "cuStreamCreateWithPriority", device_);
    Stream& s = streams_.emplace_back();
    s.handle = handle, s.priority = priority;
    pool->made.push_back(static_cast<StreamNumber>(streams_.size()) - 1);
    return pool->made.back();
  }
  return pool->made[pool->next++ % kPool];
}

StreamNumber Streams::adopt(Handle handle) {
  const std::lock_guard guard(lock_);
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i].handle == handle) return static_cast<StreamNumber>(i);
  streams_.emplace_back().handle = handle;
  return static_cast<StreamNumber>(streams_.size()) - 1;
}

void Streams::note_launch(Stream& s, const char* kernel, const char* line, const char* graph) {
  const unsigned number = s.launched.load(std::memory_order_relaxed);
  Stream::Launch& place = s.launches[number % s.launches.size()];
  place.line.store(line, std::memory_order_relaxed);
  place.graph.store(graph, std::memory_order_relaxed);
  place.kernel.store(kernel, std::memory_order_relaxed);
  s.launched.store(number + 1, std::memory_order_release);
  last_.store(&s, std::memory_order_release);
}

std::string Streams::last_kernels(StreamNumber number) {
  const Stream* s = last_.load(std::memory_order_acquire);
  if (number >= 0) {
    const std::lock_guard guard(lock_);
    if (number < static_cast<StreamNumber>(streams_.size()) &&
        streams_[static_cast<std::size_t>(number)].launched.load())
      s = &streams_[static_cast<std::size_t>(number)];
  }
  std::string text;
  for (unsigned n = 0; s && n < s->launches.size(); ++n) {
    const Stream::Launch& l = s->back(n);
    const char* const kernel = l.kernel.load(std::memory_order_relaxed);
    if (!kernel) break;
    text += (n == 0 ? "'" : n == 1 ? "; before it '" : "; '") + std::string(kernel) + '\'';
    if (const char* const line = l.line.load(std::memory_order_relaxed)) text += std::string(", for ") + line;
    if (const char* const graph = l.graph.load(std::memory_order_relaxed))
      text += std::string(", the last of a CUDA graph of ") + graph;
  }
  return text;
}

StreamNumber current_stream(int device) { return streams_of_thread[static_cast<std::size_t>(device & 127)]; }
void set_current_stream(int device, StreamNumber stream) {
  use_device(device).streams->at(stream);
  streams_of_thread[static_cast<std::size_t>(device)] = stream;
}

void synchronize_stream(int device, StreamNumber stream) {
  DeviceState& state = use_device(device);
  StatusRoom& statuses = state.streams->statuses();
  const std::uint64_t mark = statuses.mark();
  check(driver().stream_synchronize(state.streams->at(stream).handle), "cuStreamSynchronize", device, stream);
  statuses.report(stream, mark);
}

bool launches_are_waited_for() {
  static const bool are = [] {
    const char* const set = std::getenv("CUDA_LAUNCH_BLOCKING");
    return set && *set && std::string_view(set) != "0";
  }();
  return are;
}

bool is_capturing(int device, StreamNumber stream) {
  int status = 0;
  check(driver().capture_asked(use_device(device).streams->at(stream).handle, &status), "cuStreamIsCapturing", device);
  return status != 0;
}

}  // namespace md::device
