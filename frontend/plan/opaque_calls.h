// Calls of code the compiler cannot look into, made by a graph that then fails. The frame runs again as plain Python;
// what these calls did stays done, so there they are not made again: each gives what it gave the first time.
#pragma once

#include <span>
#include <vector>

#include "frontend/cpython/py_ref.h"
#include "ir/run/eager.h"
#include "ir/run/read_set.h"
#include "ir/tensor/device_generators.h"

namespace md {

struct OpaqueCall {
  PyRef key;                     // what was called: a function, or an operator of minidynamo.library
  PyRef result;                  // null: it raised
  PyRef error, traceback;        // then
  std::vector<TensorRef> given;  // the tensors among its arguments, from left to right; empty if that matters to nobody
  std::vector<TensorRef> left;   // the contents it left in each; null: not written to
  std::vector<std::uint32_t> versions;  // how often it wrote to each
  std::vector<GradState> grads;         // of its result tensors, in the program
  std::size_t positional = 0;           // arguments as the program wrote them
  PyRef keywords;                       // a tuple of names, or null
  DefaultStreams before, after;         // the random streams around it
};
using OpaqueCalls = std::vector<OpaqueCall>;

// While it lives, opaque calls of this thread's graphs are noted in `into`.
class Recording {
 public:
  explicit Recording(OpaqueCalls& into);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  OpaqueCalls* before_;
};
bool is_recording();
void record(OpaqueCall call);

// Nothing is recorded or repeated inside: what an opaque call calls is part of it.
class InsideOpaque {
 public:
  InsideOpaque();
  ~InsideOpaque();
  InsideOpaque(const InsideOpaque&) = delete;
  InsideOpaque& operator=(const InsideOpaque&) = delete;

 private:
  const WithoutReadSet part_;
  OpaqueCalls pending_;
  OpaqueCalls* recording_;
};

// The graph has failed and its caller runs the frame as plain Python: the next Replaying takes over.
void hand_over(OpaqueCalls calls);
// The plain run of a frame: calls that were handed over are repeated by their results, in their order.
class Replaying {
 public:
  // `function` is what is called next, if that is not known to run as it is: after a failure its own frame does.
  // compiling: frames called from there may be compiled. Else the frame hook only looks for calls to repeat.
  explicit Replaying(PyObject* function = nullptr, bool compiling = true);
  ~Replaying();
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;

 private:
  std::size_t below_;
  bool armed_, compiling_;
};
bool is_failed_frame(PyObject* function);  // asked by the frame hook; once true per failure
bool replays();                            // some are left
PyObject* next_replayed();                 // borrowed: the key of the next
bool compiles_in_replay();

// Gives the next call's result, having written what it wrote to `tensors`, which are the tensors among the arguments
// this time. Null without an exception: it does not fit, and nothing is left to repeat. Throws PythonError if the call
// raised.
PyRef replay(std::span<const TensorRef> tensors);
PyRef replay_arguments(std::span<PyObject* const> arguments);
const OpaqueCall& next_call();  // if replays()

// The tensors among the arguments, also those in lists, tuples and dicts.
void collect_tensors(PyObject* argument, std::vector<TensorRef>& out);

}  // namespace md
