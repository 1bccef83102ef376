// The queue and its thread, across fork() and the end of the process.
#include "backend/tiers/compile_queue.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

#include "backend/machine/fork_gate.h"

namespace md {
namespace {

using JobRef = std::shared_ptr<BackgroundJob>;

class Queue {
 public:
  // Never destroyed.
  static Queue& instance() {
    alignas(Queue) static unsigned char memory[sizeof(Queue)];
    static Queue* const queue = [] {
      // What a job needs to get to a checkpoint is locked for fork() later than the queue, so it is registered earlier.
      {
        const ForkGate registered;
      }
      auto* made = new (memory) Queue;
      pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                     [] { instance().continue_in_child(); });
      std::atexit([] { instance().stop(); });  // before the code generator's own objects go
      return made;
    }();
    return *queue;
  }

  bool submit(JobRef job) {
    std::vector<JobRef> done;  // destroyed last, without the lock
    const std::lock_guard lock(mutex_);
    done.swap(done_);
    if (stopped_ || !start()) return false;
    waiting_.push_back(std::move(job));
    changed_.notify_all();
    return true;
  }

  bool wait(std::chrono::milliseconds most) {
    std::vector<JobRef> done;
    std::unique_lock lock(mutex_);
    if (!stopped_ && !waiting_.empty()) start();
    const bool idle =
        changed_.wait_for(lock, most, [&] { return stopped_ || !running_thread_ || (waiting_.empty() && !current_); });
    done.swap(done_);
    return idle;
  }

  void stop() {
    std::deque<JobRef> dropped;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      dropped.swap(waiting_);
      changed_.notify_all();
      if (!running_thread_) return;
      running_thread_ = false;
    }
    pthread_join(thread_, nullptr);
  }

 private:
  bool start() {
    if (running_thread_) return true;
    sigset_t all, before;  // signals belong to the threads of the program
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running_thread_ = pthread_create(&thread_, nullptr, &Queue::thread_main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return running_thread_;
  }

  static void* thread_main(void* queue) {
    static_cast<Queue*>(queue)->serve();
    return nullptr;
  }

  void serve() {
    const Checkpoint checkpoint = [this] {
      std::unique_lock lock(mutex_);
      parked_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !forking_; });
      parked_ = false;
      if (stopped_) throw BackgroundStopped{};
    };
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopped_ || (!waiting_.empty() && !forking_); });
      if (stopped_) return;
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
      BackgroundJob& job = *current_;
      lock.unlock();
      try {
        job.run(checkpoint);
      } catch (const BackgroundStopped&) {
      }
      lock.lock();
      done_.push_back(std::move(current_));
      current_ = nullptr;
      changed_.notify_all();
    }
  }

  void before_fork() {
    std::unique_lock lock(mutex_);
    forking_ = true;
    changed_.wait(lock, [&] { return !current_ || parked_; });
    lock.release();  // held until it is over
  }
  void after_fork() {
    forking_ = false;
    changed_.notify_all();
    mutex_.unlock();
  }
  // The thread was not copied; who waits for the lock in the parent is not here.
  void continue_in_child() {
    new (&mutex_) std::mutex;
    new (&changed_) std::condition_variable;
    running_thread_ = forking_ = parked_ = false;
    if (current_) waiting_.push_front(std::move(current_));
    current_ = nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<JobRef> waiting_;
  JobRef current_;
  std::vector<JobRef> done_;
  pthread_t thread_{};
  bool running_thread_ = false, stopped_ = false, forking_ = false;
  bool parked_ = false;  // the job is at a checkpoint
};

}  // namespace

bool submit(std::shared_ptr<BackgroundJob> job) { return Queue::instance().submit(std::move(job)); }
bool wait_for_background(std::chrono::milliseconds most) { return Queue::instance().wait(most); }
void shut_down_background() { Queue::instance().stop(); }

}  // namespace md
