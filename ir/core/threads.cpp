// The setting behind num_threads(): what was set, else the number of processors.
#include "ir/core/threads.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace md {

namespace {
std::atomic<int> wanted{0};  // 0: as many as the process may run on
}

int num_threads() {
  const int n = wanted.load(std::memory_order_relaxed);
  if (n) return n;
  const int available = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int none = 0;
  wanted.compare_exchange_strong(none, available);
  return wanted.load(std::memory_order_relaxed);
}

void set_num_threads(int n) { wanted.store(std::max(1, n), std::memory_order_relaxed); }

}  // namespace md
