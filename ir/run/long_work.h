// Kernels that take long let the program's other threads go on meanwhile: whoever embeds the library says what holds
// them up (CPython's lock) and how to let go of it.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/arg.h"
#include "ir/tensor/tensor.h"

namespace md {

struct Interlude {
  void* (*leave)();  // null: there is nothing to let go of, as in a thread of our own
  void (*enter)(void* left);
};
// Before any kernel runs; `i` is copied.
void set_interlude(const Interlude& i);

// Below this, letting go and waiting for others costs more than it brings them.
inline constexpr double kLongWork = 100e3;  // nanoseconds

// Thrown when another thread has changed what a graph depends on before the graph wrote anything: its work is dropped.
struct Overtaken {};

// The guards and inputs this thread's innermost graph was started with. Other threads may change them while a kernel
// runs without the interpreter's lock: settle() checks them again before the graph's first write to memory that others
// see, or at its end. After that the thread keeps the lock until the graph is done.
class Premise {
 public:
  Premise() noexcept : outer_(std::exchange(current_, this)) {}
  Premise(const Premise&) = delete;
  Premise& operator=(const Premise&) = delete;

  // Throws Overtaken.
  static void settle() {
    if (Premise* p = current_; p && !p->settled_) {
      p->confirm();
      p->settled_ = true;
    }
  }
  static bool is_settled() { return current_ && current_->settled_; }

 protected:
  ~Premise() { current_ = outer_; }
  virtual void confirm() = 0;

 private:
  friend class WithoutPremise;
  static constinit thread_local Premise* current_;
  Premise* const outer_;
  bool settled_ = false;
};

// While it lives settle() does nothing: for regions and the program's own code, which run inside a graph.
class WithoutPremise {
 public:
  WithoutPremise() noexcept : outer_(std::exchange(Premise::current_, nullptr)) {}
  ~WithoutPremise() { Premise::current_ = outer_; }
  WithoutPremise(const WithoutPremise&) = delete;
  WithoutPremise& operator=(const WithoutPremise&) = delete;

 private:
  Premise* const outer_;
};

// Copies of the tensors a kernel uses. While it runs without the lock another thread may drop one of the originals, or
// give it other sizes, another dtype or other memory.
class HeldMemory {
 public:
  TensorRef add(TensorImpl& t);
  Arg add(const Arg& a);
  // Throws Overtaken if somebody has written since to one of these, which are sorted.
  void expect_unwritten(std::span<const Storage* const> storages) const;
  // Between the two the memory stays where it is.
  void begin_work() noexcept;
  void end_work() noexcept;

 private:
  struct Held {
    TensorRef tensor, copy;
    std::uint32_t version;
  };
  static constexpr std::size_t kFew = 16;  // looked through one by one
  std::vector<Held> tensors_;
  std::unordered_map<const TensorImpl*, std::size_t> places_;  // of all of them, where there are more
};

// Releases the interpreter's lock for its lifetime. Only for work on memory that no other thread can see.
class OthersGoOn {
 public:
  OthersGoOn();
  ~OthersGoOn();
  OthersGoOn(const OthersGoOn&) = delete;
  OthersGoOn& operator=(const OthersGoOn&) = delete;

 private:
  void* const left_;
};

// The same if the work is expected to take kLongWork or more. `memory`: what it reads and writes.
class LongWork {
 public:
  LongWork(double nanoseconds, HeldMemory& memory) : memory_(memory) {
    if (nanoseconds >= kLongWork) [[unlikely]]
      leave();
  }
  ~LongWork() {
    if (left_) [[unlikely]]
      enter();
  }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void leave();
  void enter();
  HeldMemory& memory_;
  void* left_ = nullptr;
};

}  // namespace md
