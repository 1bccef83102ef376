// Words of pinned memory, handed to launches and looked at later.
#include "backend/device/statuses.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "backend/device/context.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {

void raise_failed_body(const KernelStatus& status, const char* kernel) {
  if (status.code == 1) throw OpError(ErrorKind::ZeroDivision, "ZeroDivisionError");
  throw OpError(ErrorKind::Device,
                "the kernel '" + std::string(kernel) + "' failed with code " + std::to_string(status.code));
}

StatusRoom::OfStream& StatusRoom::of(StreamNumber stream) {
  for (OfStream& s : streams_)
    if (s.stream == stream) return s;
  return streams_.emplace_back(OfStream{stream, {}, {}});
}

StatusPlace StatusRoom::take() {
  constexpr std::size_t kWords = 64;
  constexpr unsigned kForAllContexts = 1, kMapped = 2;
  if (spare_.empty()) {
    use_device(device_);
    void* host = nullptr;
    Address at = 0;
    check(driver().allocate_host(&host, kWords * sizeof(KernelStatus), kForAllContexts | kMapped), "cuMemHostAlloc",
          device_);
    check(driver().host_address(&at, host, 0), "cuMemHostGetDevicePointer", device_);
    for (std::size_t i = kWords; i-- > 0;)
      spare_.push_back(
          {new (static_cast<char*>(host) + i * sizeof(KernelStatus)) KernelStatus, at + i * sizeof(KernelStatus)});
  }
  const StatusPlace place = spare_.back();
  spare_.pop_back();
  return place;
}

namespace {

// Takes the failure out of the word.
bool take_failure(const AwaitedStatus& a, KernelStatus& seen) {
  std::atomic_ref<std::int32_t> code(a.place.host->code);
  if (code.load(std::memory_order_acquire) == 0) return false;
  seen = *a.place.host;
  *a.place.host = {};
  return true;
}

void raise_if_failed(const AwaitedStatus& a) {
  KernelStatus seen;
  if (take_failure(a, seen)) a.raise(seen, a.kernel);
}

}  // namespace

Address StatusRoom::expect(StreamNumber stream, RaiseStatus raise, const char* kernel) {
  std::unique_lock guard(lock_);
  if (captured_ >= 0 && captured_ == stream)
    return of_capture_.emplace_back(AwaitedStatus{take(), raise, kernel}).place.address;
  const auto& awaited = of(stream).awaited;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, awaited.size()); ++i) raise_if_failed(awaited[i]);
  if (awaited.size() >= kMost) {
    guard.unlock();
    synchronize_stream(device_, stream);
    guard.lock();
  }
  return of(stream).awaited.emplace_back(AwaitedStatus{take(), raise, kernel, next_++}).place.address;
}

std::uint64_t StatusRoom::mark() {
  const std::lock_guard guard(lock_);
  return next_;
}

// What other threads have launched since the mark is not done yet: its words stay awaited.
void StatusRoom::report(StreamNumber stream, std::uint64_t mark) {
  const std::lock_guard guard(lock_);
  AwaitedStatus failed{};
  KernelStatus found, seen;
  const auto look = [&](const AwaitedStatus& a) {
    if (take_failure(a, seen) && !failed.raise) failed = a, found = seen;
  };
  for (OfStream& s : streams_) {
    if (stream >= 0 && s.stream != stream) continue;
    for (; !s.awaited.empty() && s.awaited.front().number < mark; s.awaited.pop_front()) {
      look(s.awaited.front());
      spare_.push_back(s.awaited.front().place);
    }
    for (auto& words : std::exchange(s.replayed, {})) std::ranges::for_each(*words, look);
  }
  if (failed.raise) failed.raise(found, failed.kernel);
}

void StatusRoom::begin_capture(StreamNumber stream) {
  const std::lock_guard guard(lock_);
  captured_ = stream;
  of_capture_.clear();
}

std::vector<AwaitedStatus> StatusRoom::end_capture() {
  const std::lock_guard guard(lock_);
  captured_ = -1;
  return std::exchange(of_capture_, {});
}

void StatusRoom::replayed(StreamNumber stream, const std::shared_ptr<const std::vector<AwaitedStatus>>& words) {
  if (words->empty()) return;
  const std::lock_guard guard(lock_);
  for (const AwaitedStatus& a : *words) raise_if_failed(a);
  auto& known = of(stream).replayed;
  if (std::ranges::find(known, words) == known.end()) known.push_back(words);
}

void StatusRoom::give_back(const std::vector<AwaitedStatus>& words) noexcept {
  const std::lock_guard guard(lock_);
  for (const AwaitedStatus& a : words) spare_.push_back(a.place);
}

}  // namespace md::device
