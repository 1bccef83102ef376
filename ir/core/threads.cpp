// The number of threads where none was set: that of the processors.
#include "ir/core/threads.h"

#include <algorithm>
#include <thread>

namespace md {

int first_num_threads() {
  const int available = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int none = 0;
  thread_limit.compare_exchange_strong(none, available);
  return thread_limit.load(std::memory_order_relaxed);
}

void set_num_threads(int n) { thread_limit.store(std::max(1, n), std::memory_order_relaxed); }

}  // namespace md
