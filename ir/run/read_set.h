// Optimistic concurrency control of a running graph: what it has read is checked before its first write that others
// see.
#pragma once

#include <utility>

namespace md {

// Another thread has changed what a graph has read, before the graph wrote anything: its work is dropped.
struct ReadConflict {};

// The guards and inputs this thread's innermost graph was started with. Other threads may change them while a kernel
// runs without the interpreter's lock: validate() checks them before the graph's first write to memory that others see,
// or at its end. After that the thread keeps the lock until the graph is done.
class ReadSet {
 public:
  ReadSet() noexcept : outer_(std::exchange(current_, this)) {}
  ReadSet(const ReadSet&) = delete;
  ReadSet& operator=(const ReadSet&) = delete;

  // Throws ReadConflict.
  static void validate() {
    if (ReadSet* r = current_; r && !r->validated_) {
      r->check();
      r->validated_ = true;
    }
  }
  static bool is_validated() { return current_ && current_->validated_; }

 protected:
  ~ReadSet() { current_ = outer_; }
  virtual void check() = 0;

 private:
  friend class WithoutReadSet;
  static inline constinit thread_local ReadSet* current_ = nullptr;
  ReadSet* const outer_;
  bool validated_ = false;
};

// While it lives validate() does nothing: for regions and the program's own code, which run inside a graph.
class WithoutReadSet {
 public:
  WithoutReadSet() noexcept : outer_(std::exchange(ReadSet::current_, nullptr)) {}
  ~WithoutReadSet() { ReadSet::current_ = outer_; }
  WithoutReadSet(const WithoutReadSet&) = delete;
  WithoutReadSet& operator=(const WithoutReadSet&) = delete;

 private:
  ReadSet* const outer_;
};

}  // namespace md
