// Workers that claim tasks of one batch at a time.
#include "backend/machine/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/core/threads.h"

namespace md {

namespace {

// About 30 microseconds: longer than the gap between the ops of a busy program, short against a time slice.
constexpr int kSpins = 2000;

thread_local bool in_task = false;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

class Pool {
 public:
  static Pool& instance() {
    static Pool* const pool = [] {
      auto* p = new Pool;
      // No batch is running while fork() copies the process; the child has no workers.
      pthread_atfork([] { instance().batch_.lock(); }, [] { instance().batch_.unlock(); },
                     [] {
                       instance().forget_workers();
                       instance().batch_.unlock();
                     });
      return p;
    }();
    return *pool;
  }

  void run(std::int64_t tasks, TaskFunction fn, void* context) {
    const int threads = num_threads();
    if (tasks < 2 || threads < 2 || tasks > kMostTasks || in_task) return run_here(tasks, fn, context);
    const Caller caller(*this);
    if (!batch_.try_lock()) return run_here(tasks, fn, context);
    const std::lock_guard guard(batch_, std::adopt_lock);
    if (stopped_ || !start_workers(threads - 1)) return run_here(tasks, fn, context);
    fn_ = fn, context_ = context, tasks_ = tasks;
    error_ = nullptr;
    helpers_.store(threads - 1, std::memory_order_relaxed);
    pending_.store(static_cast<std::uint32_t>(tasks), std::memory_order_relaxed);
    ++generation_;
    ticket_.store(generation_ << 32 | static_cast<std::uint64_t>(tasks), std::memory_order_seq_cst);
    call_workers();
    work([] { return true; });
    wait_for_helpers();
    if (error_) std::rethrow_exception(error_);
  }

  void stop() {
    const std::lock_guard guard(batch_);
    if (stopped_) return;
    stopped_ = true;
    stopping_.store(true, std::memory_order_seq_cst);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(epoch_);
    for (const pthread_t t : workers_) pthread_join(t, nullptr);
    workers_.clear();
  }

 private:
  static constexpr std::int64_t kMostTasks = 0x7fffffff;

  // One of the threads that have tasks to run at the moment.
  struct Caller {
    explicit Caller(Pool& p) : pool(p) { pool.callers_.fetch_add(1, std::memory_order_seq_cst); }
    ~Caller() {
      const bool others = pool.callers_.fetch_sub(1, std::memory_order_seq_cst) > 1;
      if (others && pool.ticket_.load(std::memory_order_seq_cst) & 0xffffffff) pool.call_workers();
    }
    Caller(const Caller&) = delete;
    Pool& pool;
  };

  // Also when a caller leaves beside whom workers had no core: they come back to the batch that still runs. A worker
  // reads epoch_ before it looks whether there is a core for it, so that one of the two is seen.
  void call_workers() {
    if (!has_core(0)) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst)) futex_wake_all(epoch_);
  }

  // Whether a worker may run tasks: callers beside the batch's own need a core each, and have precedence. Who asks for
  // more threads than there are cores gets them as long as there is one caller.
  bool has_core(int worker) const {
    const int helpers = helpers_.load(std::memory_order_relaxed);
    return worker < helpers && worker + callers_.load(std::memory_order_seq_cst) < std::max(cores_, helpers + 1);
  }

  static void run_here(std::int64_t tasks, TaskFunction fn, void* context) {
    for (std::int64_t t = 0; t < tasks; ++t) fn(context, t);
  }

  bool start_workers(int count) {
    if (static_cast<int>(workers_.size()) >= count) return true;
    sigset_t all, before;  // signals belong to the threads of the program
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (static_cast<int>(workers_.size()) < count) {
      auto* start = new Start{this, static_cast<int>(workers_.size())};
      pthread_t thread;
      if (pthread_create(&thread, nullptr, &Pool::worker_main, start)) {
        delete start;
        break;
      }
      workers_.push_back(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return !workers_.empty();
  }

  // In the child of a fork: the workers do not exist here, and what they were doing to the counters does not matter.
  void forget_workers() {
    workers_.clear();
    sleepers_.store(0, std::memory_order_relaxed);
    callers_.store(0, std::memory_order_relaxed);
    ticket_.store(generation_ << 32, std::memory_order_relaxed);
  }

  struct Start {
    Pool* pool;
    int index;
  };
  static void* worker_main(void* argument) {
    const Start start = *static_cast<Start*>(argument);
    delete static_cast<Start*>(argument);
    start.pool->serve(start.index);
    return nullptr;
  }

  void serve(int index) {
    in_task = true;
    std::uint32_t seen = 0;
    while (!stopping_.load(std::memory_order_acquire)) {
      work([&] { return has_core(index); });
      int spins = has_core(index) ? 0 : kSpins;
      while (epoch_.load(std::memory_order_acquire) == seen) {
        if (++spins < kSpins) {
          _mm_pause();
          continue;
        }
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        futex_wait(epoch_, seen);
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = epoch_.load(std::memory_order_acquire);
    }
  }

  // Takes tasks of the current batch until none is left, in ascending order: threads then read neighbouring memory,
  // all forwards, which prefetchers and open memory pages favour (5 to 10 % more GB/s than counting down or than a half
  // for each of two threads). A successful claim keeps the batch alive until the task is counted off, so fn_, context_
  // and tasks_ may be read after it.
  template <class Goes>
  void work(Goes goes_on) {
    const bool outer = in_task;
    in_task = true;
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (const std::uint64_t left = ticket & 0xffffffff) {
      if (!goes_on()) break;
      if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
      run_one(tasks_ - static_cast<std::int64_t>(left));
      ticket = ticket_.load(std::memory_order_acquire);
    }
    in_task = outer;
  }

  void run_one(std::int64_t task) {
    try {
      fn_(context_, task);
    } catch (...) {
      const std::lock_guard guard(error_lock_);
      if (!error_) error_ = std::current_exception();
    }
    if (pending_.fetch_sub(1, std::memory_order_seq_cst) == 1 && waiting_.load(std::memory_order_seq_cst)) {
      futex_wake_all(pending_);
    }
  }

  void wait_for_helpers() {
    int spins = 0;
    while (const std::uint32_t left = pending_.load(std::memory_order_acquire)) {
      if (++spins < kSpins) {
        _mm_pause();
        continue;
      }
      waiting_.store(true, std::memory_order_seq_cst);
      if (pending_.load(std::memory_order_seq_cst) == left) futex_wait(pending_, left);
      waiting_.store(false, std::memory_order_relaxed);
    }
  }

  const int cores_ = static_cast<int>(std::thread::hardware_concurrency());
  std::mutex batch_;  // held while a batch runs
  std::mutex error_lock_;
  std::vector<pthread_t> workers_;
  TaskFunction fn_ = nullptr;
  void* context_ = nullptr;
  std::int64_t tasks_ = 0;
  std::exception_ptr error_;
  std::uint64_t generation_ = 0;
  std::atomic<std::uint64_t> ticket_{0};  // generation << 32 | tasks not yet claimed
  std::atomic<std::uint32_t> epoch_{0};   // counts batches; workers sleep on it
  std::atomic<std::uint32_t> pending_{0};
  std::atomic<int> sleepers_{0}, helpers_{0}, callers_{0};
  std::atomic<bool> waiting_{false}, stopping_{false};
  bool stopped_ = false;
};

}  // namespace

void run_tasks(std::int64_t tasks, TaskFunction fn, void* context) { Pool::instance().run(tasks, fn, context); }

void shut_down_thread_pool() { Pool::instance().stop(); }

}  // namespace md
