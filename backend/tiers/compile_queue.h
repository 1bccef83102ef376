// Work done in the background by one thread of its own, first come, first served. The thread starts with the first job,
// takes no signals and never touches Python. A forked child starts its own, for what is left.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace md {

// To be called now and then where everything shared is in order: fork() waits for such a moment, after which the child
// begins the job anew. May throw BackgroundStopped.
using Checkpoint = std::function<void()>;
struct BackgroundStopped {};

class BackgroundJob {
 public:
  virtual ~BackgroundJob() = default;
  // Throws nothing but what a checkpoint has thrown.
  virtual void run(const Checkpoint& checkpoint) = 0;
};

// The job is destroyed by whoever submits the next one, or calls one of the functions below, never in the background:
// it may own what needs Python to go. False: there is no thread to be had, now or any more; the job was not taken.
bool submit(std::shared_ptr<BackgroundJob> job);
// Returns when nothing is left to do; false: there still is, after so long.
bool wait_for_background(std::chrono::milliseconds most = std::chrono::hours(24));
// Drops what waits, stops what runs and joins the thread. Nothing is taken afterwards.
void shut_down_background();

}  // namespace md
