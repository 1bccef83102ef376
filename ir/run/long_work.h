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

// What a graph's work was begun with does not hold any more, and nothing of the work has shown: it is dropped.
struct Overtaken {};

// What the work of this thread's innermost graph was begun with, which others may change while they go on. Before the
// work shows, that is before the first write to memory others know and before it ends, it is settled whether all still
// holds. From then on nobody goes on until the work is done.
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

// Around work that is a part of a graph's and does not settle it: regions, code of the program.
class WithoutPremise {
 public:
  WithoutPremise() noexcept : outer_(std::exchange(Premise::current_, nullptr)) {}
  ~WithoutPremise() { Premise::current_ = outer_; }
  WithoutPremise(const WithoutPremise&) = delete;
  WithoutPremise& operator=(const WithoutPremise&) = delete;

 private:
  Premise* const outer_;
};

// Tensors as they are now. While the work is done others may drop one, or give it other sizes, another dtype or other
// memory: the work takes the copies.
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

// For as long as it lives others go on. Around work on what nobody else knows.
class OthersGoOn {
 public:
  OthersGoOn();
  ~OthersGoOn();
  OthersGoOn(const OthersGoOn&) = delete;
  OthersGoOn& operator=(const OthersGoOn&) = delete;

 private:
  void* const left_;
};

// For as long as it lives others go on, if the work is expected to take long. `memory`: what it reads and writes.
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
