// Blocks are split from segments of three sizes and merged again when their neighbours are free.
#include "backend/device/memory_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backend/device/context.h"
#include "backend/device/replay.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

constexpr std::size_t kGrain = 512, kMiB = std::size_t{1} << 20;
constexpr std::size_t kLargestSmall = kMiB, kSmallSegment = 2 * kMiB;
constexpr std::size_t kLargestMiddle = 10 * kMiB, kMiddleSegment = 20 * kMiB, kSegmentGrain = 2 * kMiB;

std::size_t rounded_up(std::size_t n, std::size_t grain) { return (n + grain - 1) / grain * grain; }

std::size_t segment_bytes(std::size_t bytes) {
  if (bytes <= kLargestSmall) return kSmallSegment;
  return bytes < kLargestMiddle ? kMiddleSegment : rounded_up(bytes, kSegmentGrain);
}

// Without the cache each tensor has memory of its own, and tools see where it ends.
bool keeps_memory() {
  static const bool keeps = [] {
    const char* const off = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
    return !off || !*off || std::string_view(off) == "0";
  }();
  return keeps;
}

}  // namespace

std::string bytes_in_words(std::size_t bytes) {
  constexpr std::pair<std::size_t, const char*> kUnits[] = {{kMiB << 10, "GiB"}, {kMiB, "MiB"}, {1024, "KiB"}};
  for (const auto& [unit, name] : kUnits)
    if (bytes >= unit) return fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  return fmt::format("{} bytes", bytes);
}

FreeBlocks& MemoryCache::free_blocks(MemoryBlock& b) { return b.small ? b.pool->small : b.pool->large; }

void MemoryCache::split(MemoryBlock* b, std::size_t bytes) {
  auto rest = std::make_unique<MemoryBlock>();
  rest->at = b->at + bytes, rest->bytes = b->bytes - bytes;
  rest->stream = b->stream, rest->pool = b->pool, rest->small = b->small;
  rest->before = b, rest->after = b->after;
  if (b->after) b->after->before = rest.get();
  b->after = rest.get(), b->bytes = bytes;
  MemoryBlock* const kept = rest.get();
  blocks_.emplace(kept->at, std::move(rest));
  free_blocks(*kept).insert(kept);
}

MemoryBlock* MemoryCache::take_free(MemoryPool& pool, std::size_t bytes, StreamNumber stream) {
  FreeBlocks& free = bytes <= kLargestSmall ? pool.small : pool.large;
  MemoryBlock wanted;
  wanted.stream = stream, wanted.bytes = bytes;
  const auto found = free.lower_bound(&wanted);
  if (found == free.end() || (*found)->stream != stream) return nullptr;
  MemoryBlock* const b = *found;
  free.erase(found);
  const std::size_t least = bytes <= kLargestSmall ? kGrain : kLargestSmall + 1;
  if (b->bytes - bytes >= least) split(b, bytes);
  return b;
}

MemoryBlock* MemoryCache::take_fresh(MemoryPool& pool, std::size_t bytes, StreamNumber stream) {
  std::size_t segment = keeps_memory() ? segment_bytes(bytes) : bytes;
  const auto most = static_cast<std::size_t>(fraction_ * static_cast<double>(total_));
  Address at = 0;
  for (int attempt = 0;; ++attempt) {
    const bool allowed = fraction_ >= 1 || (segment <= most && numbers_.reserved <= most - segment);
    const Code code = allowed ? driver().allocate(&at, segment) : kOutOfMemory;
    if (code == 0) break;
    if (code != kOutOfMemory) check(code, "cuMemAlloc", device_);
    if (attempt == 0 && !captured_) {
      ++numbers_.retries;
      empty_locked();
    } else if (const std::size_t least = rounded_up(bytes, kSegmentGrain); segment > least) {
      segment = least;  // there may be room for no more than this
    } else {
      refuse(bytes);
    }
  }
  auto made = std::make_unique<MemoryBlock>();
  made->at = at, made->bytes = segment, made->stream = stream, made->pool = &pool;
  made->small = bytes <= kLargestSmall;
  MemoryBlock* const b = made.get();
  blocks_.emplace(at, std::move(made));
  segments_.emplace(at, segment);
  numbers_.reserved += segment;
  numbers_.most_reserved = std::max(numbers_.most_reserved, numbers_.reserved);
  const std::size_t least = bytes <= kLargestSmall ? kGrain : kLargestSmall + 1;
  if (segment - bytes >= least) split(b, bytes);
  return b;
}

MemoryBlock* MemoryCache::allocate(std::size_t asked, StreamNumber stream) {
  const std::lock_guard guard(lock_);
  if (asked > (std::size_t{1} << 47)) refuse(asked);
  const std::size_t least = std::max<std::size_t>(asked, 1), bytes = keeps_memory() ? rounded_up(least, kGrain) : least;
  look_at_events();
  MemoryPool& pool = captured_ && stream == captured_stream_ ? *captured_ : usual_;
  MemoryBlock* b = take_free(pool, bytes, stream);
  if (!b) b = take_fresh(pool, bytes, stream);
  b->taken = true;
  ++numbers_.allocations;
  numbers_.allocated += b->bytes;
  numbers_.most_allocated = std::max(numbers_.most_allocated, numbers_.allocated);
  return b;
}

void MemoryCache::free(MemoryBlock* b) noexcept {
  const std::lock_guard guard(lock_);
  numbers_.allocated -= b->bytes;
  ++numbers_.frees;
  b->taken = false;
  if (b->users.empty())
    put_back(b);
  else if (captured_)
    freed_in_capture_.push_back(b);
  else
    wait_for_users(b);
}

MemoryBlock* MemoryCache::merged(MemoryBlock* b) {
  const auto is_free = [](const MemoryBlock* o) { return o && !o->taken && !o->awaited && o->users.empty(); };
  const auto join = [&](MemoryBlock* first, MemoryBlock* second) {
    first->bytes += second->bytes;
    first->after = second->after;
    if (second->after) second->after->before = first;
    blocks_.erase(second->at);
    return first;
  };
  if (is_free(b->before)) {
    MemoryBlock* const before = b->before;
    free_blocks(*before).erase(before);
    b = join(before, b);
  }
  if (is_free(b->after)) {
    free_blocks(*b->after).erase(b->after);
    b = join(b, b->after);
  }
  return b;
}

// Waits for the device. What a driver does not take back stays.
void MemoryCache::give_back(MemoryBlock* b) {
  give_kept();
  DeviceState* const state = device_in_use(device_);
  if (!state || driver().context_set(state->context) || driver().free(b->at)) return;
  numbers_.reserved -= b->bytes;
  segments_.erase(b->at);
  blocks_.erase(b->at);
}

void MemoryCache::put_back(MemoryBlock* b) {
  if (!keeps_memory() && b->pool == &usual_) return give_back(b);
  b = merged(b);
  free_blocks(*b).insert(b);
}

// An event behind what each of the other streams has been given so far. A driver that is gone or refuses keeps the
// block from being used again.
void MemoryCache::wait_for_users(MemoryBlock* b) {
  DeviceState* const state = device_in_use(device_);
  b->awaited = static_cast<int>(b->users.size());
  if (!state) return;
  const Driver& d = driver();
  if (d.context_set(state->context)) return;
  for (const StreamNumber user : b->users) {
    Handle event = nullptr;
    if (!spare_events_.empty()) {
      event = spare_events_.back();
      spare_events_.pop_back();
    } else if (constexpr unsigned kUntimed = 2; d.event_create(&event, kUntimed)) {
      continue;
    }
    if (d.event_record(event, state->streams->at(user).handle) == 0)
      waiting_[user].push_back({event, b});
    else
      spare_events_.push_back(event);
  }
}

void MemoryCache::look_at_events() {
  if (captured_) return;
  for (auto& [stream, events] : waiting_) {
    for (; !events.empty() && driver().event_query(events.front().event) == 0; events.pop_front()) {
      spare_events_.push_back(events.front().event);
      MemoryBlock* const b = events.front().block;
      if (--b->awaited) continue;
      b->users.clear();
      put_back(b);
    }
  }
}

void MemoryCache::record_stream(Address at, StreamNumber stream) {
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(at);
  if (found == blocks_.end() || !found->second->taken || found->second->stream == stream) return;
  std::vector<StreamNumber>& users = found->second->users;
  if (std::ranges::find(users, stream) == users.end()) users.push_back(stream);
}

void MemoryCache::give_to_driver(MemoryPool& pool) {
  for (FreeBlocks* const free : {&pool.small, &pool.large}) {
    for (auto at = free->begin(); at != free->end();) {
      MemoryBlock* const b = *at;
      const bool whole = !b->before && !b->after;
      if (!whole || driver().free(b->at)) {
        ++at;
        continue;
      }
      at = free->erase(at);
      numbers_.reserved -= b->bytes;
      segments_.erase(b->at);
      blocks_.erase(b->at);
    }
  }
}

void MemoryCache::empty_locked() {
  if (captured_) return;
  give_kept();  // to blocks that are free by now
  check(driver().context_synchronize(), "cuCtxSynchronize", device_);
  look_at_events();
  give_to_driver(usual_);
}

void MemoryCache::empty() {
  const std::lock_guard guard(lock_);
  empty_locked();
}

void MemoryCache::set_fraction(double fraction) {
  const std::lock_guard guard(lock_);
  fraction_ = fraction;
}

DeviceMemory MemoryCache::statistics() {
  const std::lock_guard guard(lock_);
  DeviceMemory now = numbers_;
  if (driver().memory_info(&now.free, &now.total)) now.free = 0, now.total = total_;
  now.segments = static_cast<std::int64_t>(segments_.size());
  return now;
}

void MemoryCache::reset_peaks() {
  const std::lock_guard guard(lock_);
  numbers_.most_allocated = numbers_.allocated;
  numbers_.most_reserved = numbers_.reserved;
}

void MemoryCache::refuse(std::size_t bytes) {
  ++numbers_.out_of_memory;
  std::size_t free = 0, total = total_;
  if (driver().memory_info(&free, &total)) free = 0;
  std::string text = fmt::format(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which "
      "{} is free. ",
      bytes_in_words(bytes), device_, bytes_in_words(total), bytes_in_words(free));
  if (fraction_ < 1) {
    text += fmt::format("This process may use {}. ",
                        bytes_in_words(static_cast<std::size_t>(fraction_ * static_cast<double>(total_))));
  }
  text += fmt::format("Tensors of this process hold {}; {} more is reserved for it and unused.",
                      bytes_in_words(numbers_.allocated), bytes_in_words(numbers_.reserved - numbers_.allocated));
  throw OpError(ErrorKind::DeviceMemory, text);
}

MemoryPool* MemoryCache::begin_capture(StreamNumber stream, MemoryPool* shared) {
  const std::lock_guard guard(lock_);
  if (captured_) throw OpError(ErrorKind::Runtime, "a CUDA graph is being captured on this device already");
  captured_ = shared ? shared : &of_graphs_.emplace_back();
  ++captured_->holders;
  captured_stream_ = stream;
  return captured_;
}

MemoryPool* MemoryCache::end_capture() {
  const std::lock_guard guard(lock_);
  MemoryPool* const pool = std::exchange(captured_, nullptr);
  captured_stream_ = -1;
  for (MemoryBlock* const b : std::exchange(freed_in_capture_, {})) wait_for_users(b);
  return pool;
}

void MemoryCache::release_pool(MemoryPool* pool) noexcept {
  const std::lock_guard guard(lock_);
  if (--pool->holders) return;
  for (auto& [at, b] : blocks_)
    if (b->pool == pool) b->pool = &usual_;
  usual_.small.merge(pool->small);
  usual_.large.merge(pool->large);
  of_graphs_.remove_if([&](const MemoryPool& p) { return &p == pool; });
}

void MemoryCache::verify() {
  const std::lock_guard guard(lock_);
  const auto expect = [](bool holds, const char* what) {
    if (!holds) throw InternalError(std::string("device memory: ") + what);
  };
  std::size_t reserved = 0, taken = 0, seen = 0;
  for (const auto& [start, bytes] : segments_) {
    reserved += bytes;
    Address next = start;
    for (const MemoryBlock* b = blocks_.at(start).get(); b; b = b->after, ++seen) {
      expect(b->at == next && b->bytes && b->bytes % kGrain == 0, "blocks of a segment do not follow each other");
      next += b->bytes;
      if (b->taken) taken += b->bytes;
      const bool free = !b->taken && !b->awaited && b->users.empty();
      expect(free == (b->pool->small.contains(const_cast<MemoryBlock*>(b)) ||
                      b->pool->large.contains(const_cast<MemoryBlock*>(b))),
             "a block is not where free blocks are, or is there and used");
      expect(!free || !b->after || b->after->taken || b->after->awaited || !b->after->users.empty(),
             "free neighbours are apart");
    }
    expect(next == start + bytes, "blocks do not fill their segment");
  }
  expect(seen == blocks_.size() && reserved == numbers_.reserved && taken == numbers_.allocated, "sums are wrong");
}

}  // namespace md::device
