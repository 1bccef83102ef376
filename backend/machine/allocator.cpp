// Small blocks: lists per thread and size class. Large ones: a shared table of mapped memory.
#include "backend/machine/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "ir/core/error.h"

namespace md {

namespace {

// Size classes: multiples of 64 bytes up to 1 KiB, then eight steps per doubling.
constexpr int kLinearClasses = 17;
constexpr int kClasses = kLinearClasses + 8 * 38;
constexpr std::size_t kLargestSmall = 32 << 10;
constexpr std::size_t kSlab = 256 << 10;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kThreadCacheBytes = 256 << 10;  // per size class

constexpr int class_of(std::size_t bytes) {
  if (bytes <= 1024) return static_cast<int>((bytes + 63) / 64);
  const int doubling = std::bit_width(bytes - 1) - 1;  // 2^doubling < bytes <= 2^(doubling+1)
  const auto step = ((bytes - 1) >> (doubling - 3)) & 7;
  return kLinearClasses + (doubling - 10) * 8 + static_cast<int>(step);
}
constexpr std::size_t class_bytes(int c) {
  if (c < kLinearClasses) return static_cast<std::size_t>(c) * 64;
  const int doubling = (c - kLinearClasses) / 8 + 10, step = (c - kLinearClasses) % 8;
  return (std::size_t{1} << doubling) + (std::size_t(step) + 1) * (std::size_t{1} << (doubling - 3));
}
static_assert(class_bytes(class_of(1025)) == 1152 && class_bytes(class_of(2048)) == 2048);
constexpr int kSmallClasses = class_of(kLargestSmall) + 1;

struct FreeBlock {
  FreeBlock* next;
};

// What all threads share, under one lock.
class Central {
 public:
  // Never destroyed: blocks may come back while other statics are being torn down.
  static Central& instance() {
    static Central* const central = [] {
      auto* c = new Central;
      pthread_atfork([] { instance().lock_.lock(); }, [] { instance().lock_.unlock(); },
                     [] { instance().lock_.unlock(); });
      return c;
    }();
    return *central;
  }

  void* take_small(int c) {
    const std::lock_guard guard(lock_);
    if (FreeBlock* b = free_[c]) {
      free_[c] = b->next;
      return b;
    }
    const std::size_t bytes = class_bytes(c);
    if (slab_left_ < bytes) {
      void* fresh = map(kSlab);
      if (!fresh) return nullptr;
      slab_ = static_cast<char*>(fresh), slab_left_ = kSlab;
    }
    void* p = slab_;
    slab_ += bytes, slab_left_ -= bytes;
    return p;
  }
  void give_small(int c, FreeBlock* first, FreeBlock* last) {
    const std::lock_guard guard(lock_);
    last->next = free_[c];
    free_[c] = first;
  }

  void* take_large(int c) {
    const std::size_t bytes = class_bytes(c);
    const std::lock_guard guard(lock_);
    if (FreeBlock* b = free_[c]) {
      free_[c] = b->next;
      cached_ -= bytes;
      return b;
    }
    void* p = map(bytes);
    if (!p) {
      trim();
      p = map(bytes);
    }
    if (p) mapped_ += bytes;
    return p;
  }
  void give_large(int c, void* p) {
    const std::size_t bytes = class_bytes(c);
    const std::lock_guard guard(lock_);
    if (cached_ + bytes > limit_) {
      munmap(p, bytes);
      mapped_ -= bytes;
      return;
    }
    cached_ += bytes;
    free_[c] = new (p) FreeBlock{free_[c]};
  }
  void release() {
    const std::lock_guard guard(lock_);
    trim();
  }
  AllocatorStats stats() {
    const std::lock_guard guard(lock_);
    return {cached_, mapped_};
  }

 private:
  Central() {
    const auto pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) limit_ = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 4;
  }

  static void* map(std::size_t bytes) {
    const bool huge = bytes >= 2 * kHugePage;
    const std::size_t extra = huge ? kHugePage : 0;  // room to align
    void* p = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    if (!huge) return p;
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::size_t before = (kHugePage - at % kHugePage) % kHugePage;
    if (before) munmap(p, before);
    if (extra > before) munmap(static_cast<char*>(p) + before + bytes, extra - before);
    p = static_cast<char*>(p) + before;
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
  }
  void trim() {
    for (int c = kSmallClasses; c < kClasses; ++c) {
      while (FreeBlock* b = free_[c]) {
        free_[c] = b->next;
        munmap(b, class_bytes(c));
        cached_ -= class_bytes(c), mapped_ -= class_bytes(c);
      }
    }
  }

  std::mutex lock_;
  std::array<FreeBlock*, kClasses> free_{};
  char* slab_ = nullptr;
  std::size_t slab_left_ = 0, cached_ = 0, mapped_ = 0;
  std::size_t limit_ = std::size_t{1} << 30;
};

// Small blocks of one thread. Goes back to Central when the thread ends; later calls of that thread find it closed.
class ThreadCache {
 public:
  ~ThreadCache() {
    for (int c = 0; c < kSmallClasses; ++c) flush(c, 0);
    open_ = false;
  }
  void* take(int c) {
    FreeBlock* b = head_[c];
    if (!b) return Central::instance().take_small(c);
    head_[c] = b->next;
    --count_[c];
    return b;
  }
  void give(int c, void* p) {
    auto* b = new (p) FreeBlock{nullptr};
    if (!open_) return Central::instance().give_small(c, b, b);
    b->next = head_[c];
    head_[c] = b;
    const auto most = std::max<std::size_t>(8, kThreadCacheBytes / class_bytes(c));
    if (++count_[c] > most) flush(c, most / 2);
  }

 private:
  void flush(int c, std::size_t keep) {
    if (count_[c] <= keep) return;
    FreeBlock* const first = head_[c];
    FreeBlock* last = first;
    for (std::size_t i = count_[c] - keep; i > 1; --i) last = last->next;
    head_[c] = last->next;
    count_[c] = keep;
    Central::instance().give_small(c, first, last);
  }

  bool open_ = true;
  std::array<FreeBlock*, kSmallClasses> head_{};
  std::array<std::size_t, kSmallClasses> count_{};
};

// A plain pointer, which needs no look whether it was constructed, to what does. It stays when the thread ends.
thread_local ThreadCache* cache_of_thread = nullptr;

[[gnu::noinline]] ThreadCache& first_use() {
  static thread_local ThreadCache cache;
  return *(cache_of_thread = &cache);
}

inline ThreadCache& thread_cache() {
  ThreadCache* const cache = cache_of_thread;
  return cache ? *cache : first_use();
}

void give_back(void* data, std::size_t bytes, void*) {
  if (!bytes) return;
  const int c = class_of(bytes);
  if (c < kSmallClasses) {
    thread_cache().give(c, data);
  } else {
    Central::instance().give_large(c, data);
  }
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)

// A cache would hide every use after free from the sanitizer.
Ref<Storage> allocate_cached_storage(std::size_t bytes, Device) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64;
  void* data = bytes < std::size_t{1} << 46 ? std::aligned_alloc(64, rounded) : nullptr;
  if (!data)
    throw OpError(ErrorKind::Memory, "not enough memory: tried to allocate " + std::to_string(bytes) + " bytes");
  return make_ref<Storage>(data, bytes, [](void* p, std::size_t, void*) { std::free(p); }, nullptr);
}

#else

Ref<Storage> allocate_cached_storage(std::size_t bytes, Device) {
  constexpr std::size_t kMost = std::size_t{1} << 47;
  void* data = nullptr;
  if (bytes <= kMost) {
    const int c = class_of(std::max<std::size_t>(bytes, 1));
    data = c < kSmallClasses ? thread_cache().take(c) : Central::instance().take_large(c);
  }
  if (!data)
    throw OpError(ErrorKind::Memory, "not enough memory: tried to allocate " + std::to_string(bytes) + " bytes");
  // An empty tensor owns the smallest block all the same, so that its address is valid and its own.
  return make_ref<Storage>(data, std::max<std::size_t>(bytes, 1), give_back, nullptr);
}

#endif

void release_cached_memory() { Central::instance().release(); }

AllocatorStats allocator_stats() { return Central::instance().stats(); }

}  // namespace md
