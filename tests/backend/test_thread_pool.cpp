// parallel_for: each task once, pieces that no number of threads changes, nesting, exceptions, forks, shut-down.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backend/machine/thread_pool.h"
#include "ir/core/threads.h"

namespace md {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void SetUp() override { set_num_threads(4); }
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(ThreadPool, EveryTaskOnce) {
  for (const std::int64_t n : {1, 2, 7, 1000, 100000}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
    parallel_for(n, 3, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    for (const auto& s : seen) ASSERT_EQ(s.load(), 1);
  }
}

TEST_F(ThreadPool, EachThreadGoesUpwards) {
  std::mutex lock;
  std::map<std::thread::id, std::int64_t> last;
  parallel_for(256, 1, [&](std::int64_t begin, std::int64_t) {
    const std::lock_guard guard(lock);
    const auto [mine, first] = last.try_emplace(std::this_thread::get_id(), begin);
    EXPECT_TRUE(first || mine->second < begin);
    mine->second = begin;
  });
}

TEST_F(ThreadPool, PiecesDoNotDependOnThreads) {
  const auto pieces = [](int threads) {
    set_num_threads(threads);
    std::atomic<std::int64_t> hash{0};
    parallel_for(123456, 100, [&](std::int64_t begin, std::int64_t end) { hash += begin * 31 + end * end; });
    return hash.load();
  };
  EXPECT_EQ(pieces(1), pieces(2));
  EXPECT_EQ(pieces(1), pieces(4));
}

TEST_F(ThreadPool, WorkersTakePart) {
  // Each task waits until both have started, so that a second thread must come.
  std::atomic<int> started{0};
  run_tasks(
      2,
      [](void* context, std::int64_t) {
        auto& count = *static_cast<std::atomic<int>*>(context);
        ++count;
        while (count.load() < 2) std::this_thread::yield();
      },
      &started);
  EXPECT_EQ(started.load(), 2);
}

TEST_F(ThreadPool, NestedRegionsRunInTheirTask) {
  std::atomic<int> inner{0};
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const auto thread = std::this_thread::get_id();
    parallel_for(10, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      inner += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(inner.load(), 80);
}

TEST_F(ThreadPool, FirstExceptionReachesTheCaller) {
  const auto throwing = [] {
    parallel_for(64, 1, [](std::int64_t begin, std::int64_t) {
      if (begin == 40) throw std::runtime_error("task 40");
    });
  };
  EXPECT_THROW(throwing(), std::runtime_error);
  std::atomic<int> after{0};
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) { ++after; });
  EXPECT_EQ(after.load(), 64);
}

TEST_F(ThreadPool, ManyCallers) {
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        parallel_for(50, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
      }
    });
  }
  for (auto& c : callers) c.join();
  EXPECT_EQ(sum.load(), 4 * 200 * 50);
}

// A caller that comes while another one's region runs, stays until `leaves` and counts what workers do beside it.
class Visit {
 public:
  ~Visit() {
    if (thread_.joinable()) end();
  }
  void begin() {
    thread_ = std::thread([this] {
      parallel_for(2, 1, [this](std::int64_t begin, std::int64_t) {
        if (begin) return;
        inside_ = true;
        while (!leaves_.load()) std::this_thread::yield();
      });
    });
    while (!inside_.load()) std::this_thread::yield();
  }
  void end() {
    leaves_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> inside_{false}, leaves_{false};
  std::thread thread_;
};

TEST_F(ThreadPool, AnotherCallerGetsTheCoreOfAWorker) {
  const int cores = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  set_num_threads(2);
  const auto owner = std::this_thread::get_id();
  std::mutex lock;
  std::set<std::thread::id> all, beside, after;  // threads at work before, while and after visitors were there
  const auto count = [&](const std::set<std::thread::id>& s) {
    const std::lock_guard guard(lock);
    return static_cast<int>(s.size());
  };
  std::atomic<int> stage{0};
  std::vector<Visit> visits(static_cast<std::size_t>(cores - 1));  // with the owner, one on each core
  parallel_for(256, 1, [&](std::int64_t begin, std::int64_t) {
    const auto me = std::this_thread::get_id();
    const int at = stage.load();
    {
      const std::lock_guard guard(lock);
      (at == 0 ? all : at == 1 ? beside : after).insert(me);
    }
    if (me != owner) {
      while (at == 0 && stage.load() == 0) std::this_thread::yield();
    } else if (at == 0) {
      while (count(all) < 2) std::this_thread::yield();
      for (Visit& v : visits) v.begin();
      stage = 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (at == 1 && begin > 128) {
      stage = 2;
      for (Visit& v : visits) v.end();
      while (count(after) < 1) std::this_thread::yield();  // a worker comes back to this region
    }
  });
  EXPECT_EQ(beside.size(), 1);
}

// ThreadSanitizer takes a thread that a forked child starts for one of the parent's.
#ifndef __SANITIZE_THREAD__
TEST_F(ThreadPool, ChildOfForkStartsItsOwn) {
  parallel_for(100, 1, [](std::int64_t, std::int64_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> count{0};
    for (int i = 0; i < 50; ++i) parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++count; });
    _exit(count.load() == 5000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::atomic<int> count{0};
  parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++count; });
  EXPECT_EQ(count.load(), 100);
}

// In a child, since the pool does not start again in the process that shut it down.
TEST_F(ThreadPool, WorksInTheCallerAfterShutdown) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    parallel_for(100, 1, [](std::int64_t, std::int64_t) {});
    shut_down_thread_pool();
    shut_down_thread_pool();
    const auto caller = std::this_thread::get_id();
    bool mine = true;
    parallel_for(100, 1, [&](std::int64_t, std::int64_t) { mine &= std::this_thread::get_id() == caller; });
    _exit(mine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace md
