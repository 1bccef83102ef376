// The threads kernels share. Work is cut into tasks whose boundaries do not depend on how many threads there are, so
// results are the same on one thread or many. Workers start at the first batch of tasks, spin for a moment after each
// and then sleep; a forked child starts its own. A thread of the program that comes with tasks takes a worker's core:
// the worker leaves the batch it helps as soon as its task is done.
#pragma once

#include <cstdint>

namespace md {

using TaskFunction = void (*)(void* context, std::int64_t task);

// Calls fn(context, t) for every t in [0, tasks) on up to num_threads() threads, the caller's among them, and returns
// when all are done. The first exception is rethrown here. A call from inside a task, or while another thread's batch
// runs, does its tasks in the calling thread.
void run_tasks(std::int64_t tasks, TaskFunction fn, void* context);

// f(begin, end) over [0, n) in pieces of at least `grain` (the last may be shorter). Pieces depend on n and grain only.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) return f(std::int64_t{0}, n);
  constexpr std::int64_t kMostTasks = 256;
  const std::int64_t least = (n + kMostTasks - 1) / kMostTasks;
  struct Batch {
    F& f;
    std::int64_t n, piece;
  } batch{f, n, (least + grain - 1) / grain * grain};
  run_tasks((n + batch.piece - 1) / batch.piece,
            [](void* context, std::int64_t task) {
              auto& r = *static_cast<Batch*>(context);
              const std::int64_t begin = task * r.piece;
              r.f(begin, begin + r.piece < r.n ? begin + r.piece : r.n);
            },
            &batch);
}

// Stops and joins the workers; batches after it run in the caller. Call before the process is torn down.
void shut_down_thread_pool();

}  // namespace md
