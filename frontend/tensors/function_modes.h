// Modes: objects on a stack of the thread whose __torch_function__ is asked about every call, subclasses or not.
#pragma once

#include <atomic>

#include "frontend/tensors/tensor_object.h"

namespace md {

// How many modes are on the stacks of all threads: calls take the short way only while there are none.
extern std::atomic<int> function_modes;

// Whether a call on `self` may be somebody else's to answer.
inline bool may_be_overridden(PyObject* self) {
  return !is_tensor_exact(self) || function_modes.load(std::memory_order_relaxed) != 0;
}

// How many modes are active and how many switches are thrown, in all threads.
extern std::atomic<int> changed_overrides;
bool overrides_are_changed_here();
// Whether calls in this thread are answered in another way than compiled code assumes: such code runs plain then.
inline bool overrides_are_changed() {
  return changed_overrides.load(std::memory_order_relaxed) != 0 && overrides_are_changed_here();
}

// What regions of autocast this thread is in: 0, or 1 and 2 for float16 and bfloat16 on the CPU, 4 and 8 on CUDA
// devices. They are modes whose class is known, and which compiled code is made for.
int autocast_word();
PyTypeObject* autocast_region_type();  // null: there has been none

// What is not asked, in this thread.
enum class Overrides : std::uint8_t { All, Modes, None };  // asked: all, modes only, nothing
Overrides overrides_asked();

// While it lives, a part of the overrides is not asked.
class LessOverrides {
 public:
  explicit LessOverrides(Overrides left);
  ~LessOverrides();
  LessOverrides(const LessOverrides&) = delete;
  LessOverrides& operator=(const LessOverrides&) = delete;

 private:
  Overrides before_;
};

// The innermost mode of this thread, off the stack while it answers; null: there is none.
class AnsweringMode {
 public:
  AnsweringMode();
  ~AnsweringMode();
  AnsweringMode(const AnsweringMode&) = delete;
  AnsweringMode& operator=(const AnsweringMode&) = delete;
  PyObject* get() const { return mode_.get(); }

 private:
  PyRef mode_;
};

int init_function_modes(PyObject* module);

}  // namespace md
