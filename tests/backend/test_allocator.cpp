// Storage from the cached allocator: aligned, disjoint, used again, given back, across threads and forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "backend/machine/allocator.h"
#include "ir/core/error.h"

namespace md {
namespace {

TEST(Allocator, AlignedAndWritable) {
  for (std::size_t bytes : {0, 1, 63, 64, 65, 1024, 1025, 32768, 32769, 1 << 20, (5 << 20) + 1}) {
    const Ref<Storage> s = allocate_cached_storage(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s->data()) % 64, 0u) << bytes;
    EXPECT_GE(s->bytes(), bytes);
    std::memset(s->data(), 0xab, bytes);
  }
}

TEST(Allocator, BlocksInUseAreDisjoint) {
  std::mt19937 g(1);
  std::vector<Ref<Storage>> held;
  for (int i = 0; i < 4000; ++i) {
    if (held.size() > 200) held.erase(held.begin() + g() % held.size());
    held.push_back(allocate_cached_storage(g() % (1u << (g() % 20))));
  }
  std::vector<std::pair<char*, char*>> ranges;
  for (const auto& s : held) {
    auto* p = static_cast<char*>(s->data());
    ranges.emplace_back(p, p + s->bytes());
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
}

#ifndef __SANITIZE_ADDRESS__  // the allocator of that build does not cache
TEST(Allocator, ReusesAFreedBlock) {
  for (std::size_t bytes : {100, 5000, 3 << 20}) {
    void* first;
    {
      const Ref<Storage> s = allocate_cached_storage(bytes);
      first = s->data();
    }
    EXPECT_EQ(allocate_cached_storage(bytes)->data(), first) << bytes;
  }
}

TEST(Allocator, ReleaseGivesLargeBlocksBack) {
  allocate_cached_storage(7 << 20);
  EXPECT_GE(allocator_stats().cached_bytes, std::size_t{7} << 20);
  release_cached_memory();
  EXPECT_EQ(allocator_stats().cached_bytes, 0u);
}
#endif

TEST(Allocator, TooMuchIsAnError) {
  for (const std::size_t bytes : {std::size_t{1} << 46, std::size_t{1} << 60, SIZE_MAX}) {
    try {
      allocate_cached_storage(bytes);
      FAIL() << bytes;
    } catch (const OpError& e) {
      EXPECT_EQ(e.kind, ErrorKind::Memory);
    }
  }
}

// Blocks allocated in one thread and freed in another, with both at work.
TEST(Allocator, CrossesThreads) {
  std::vector<Ref<Storage>> passed;
  for (int i = 0; i < 3000; ++i) passed.push_back(allocate_cached_storage(64 + i % 700));
  std::thread other([&] {
    for (auto& s : passed) {
      std::memset(s->data(), 1, s->bytes());
      s = nullptr;
    }
  });
  std::vector<Ref<Storage>> mine;
  for (int i = 0; i < 3000; ++i) {
    mine.push_back(allocate_cached_storage(64 + i % 700));
    std::memset(mine.back()->data(), 2, mine.back()->bytes());
  }
  other.join();
  for (const auto& s : mine) {
    const auto* p = static_cast<const unsigned char*>(s->data());
    EXPECT_TRUE(std::all_of(p, p + s->bytes(), [](unsigned char c) { return c == 2; }));
  }
}

// A child forked while other threads allocate can allocate too; with AddressSanitizer it may wait for that one's own
// locks for ever.
#ifndef __SANITIZE_ADDRESS__
TEST(Allocator, SurvivesFork) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) allocate_cached_storage(1 << 20);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int k = 0; k < 50; ++k) {
        allocate_cached_storage(1 << 20);
        allocate_cached_storage(300);
      }
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}
#endif

}  // namespace
}  // namespace md
