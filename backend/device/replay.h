// Runs that are repeated: what a run gives to a stream is kept back until its end and given to the driver as one CUDA
// graph. The next run that gives the same kernels launches that graph again. Addresses and numbers that differ are put
// into its nodes first, so nothing is copied, and results lie in memory of their own as without a graph.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/device/launch.h"

namespace md::device {

// A launch, a copy within the device (`words`: to, from, bytes), or a fill (to, byte, bytes).
struct KeptStep {
  enum class Kind : std::uint8_t { Kernel, Copy, Fill };
  Kind kind = Kind::Kernel;
  DeviceFunction* function = nullptr;
  LaunchShape shape;
  const char* line = nullptr;
  std::size_t first = 0, count = 0;  // of the words
};

struct KeptSteps {
  std::vector<KeptStep> steps;
  std::vector<std::uint64_t> words;
  std::span<const std::uint64_t> words_of(const KeptStep& s) const { return {words.data() + s.first, s.count}; }
};

// What became of the steps of a run, for logs.
struct ReplayNote {
  std::size_t launches = 0;
  std::string why;      // they were launched one by one; empty: a graph was made of them
  std::string kernels;  // "a, b, c"
};

// The graphs of one compiled graph. Threads may run it at the same time.
class LaunchReplay {
 public:
  LaunchReplay(int device, bool writes);  // `writes`: what others see, beside its results
  ~LaunchReplay();
  LaunchReplay(const LaunchReplay&) = delete;

  // While it lives, launches, copies and fills of this thread for the device's current stream are kept back. Whatever
  // else is asked of a stream comes after them. The thread holds the lock of the program's threads until the end:
  // another one would be handed memory that work still kept back writes to.
  class Run {
   public:
    explicit Run(LaunchReplay& of);
    ~Run();         // after an error: what is kept is launched as it is
    void finish();  // throws what went wrong: FailedAfterWrite where some of it may have written
    Run(const Run&) = delete;

   private:
    friend void give_kept() noexcept;
    friend bool keep(int, StreamNumber, KeptStep, std::span<const std::uint64_t>);
    void give() noexcept;
    LaunchReplay& of_;
    const StreamNumber stream_;
    bool keeps_ = false;
    KeptSteps kept_;
    std::exception_ptr failed_;
    std::size_t parts_ = 0;  // that were given
  };

  int device() const { return device_; }
  bool has_notes() const { return noted_.load(std::memory_order_relaxed); }
  std::vector<ReplayNote> take_notes();  // since it was last asked

 private:
  struct Graph;
  static constexpr int kMostFailures = 3;  // after these no graph is made any more

  // `part`: which of the run it is, from 1.
  void run(const KeptSteps& kept, StreamNumber stream, std::size_t part);
  Graph* find(const KeptSteps& kept);
  Graph* make(const KeptSteps& kept);  // null: one by one
  void note(const KeptSteps& kept, std::string why);

  const int device_;
  const bool writes_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Graph>> graphs_;  // the one used last at the end
  std::size_t most_graphs_ = 16;                // and at least twice as many as a run has parts
  std::vector<ReplayNote> notes_;
  std::atomic<bool> noted_{false};
  int failures_ = 0;
  bool single_ = false;  // it was noted that there is nothing to put together
};

// Before anything is asked of a stream or of memory that does not come by keep(): gives what this thread has kept.
void give_kept() noexcept;
// Whether it is kept back; otherwise it is to be done now.
bool keep(int device, StreamNumber stream, KeptStep step, std::span<const std::uint64_t> words);

}  // namespace md::device
