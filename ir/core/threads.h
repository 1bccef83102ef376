// How many threads kernels may use: a process-wide setting the thread pool reads at every parallel loop.
#pragma once

#include <atomic>

namespace md {

// What was set, or 0: it has not been asked for.
inline std::atomic<int> thread_limit{0};
int first_num_threads();  // as many as there are processors, from now on

inline int num_threads() {
  const int n = thread_limit.load(std::memory_order_relaxed);
  return n ? n : first_num_threads();
}
void set_num_threads(int n);  // n >= 1

}  // namespace md
