// The driver: runs a frame's compiled entry and, after a break, whatever follows, without nesting Python frames.
#pragma once

#include "frontend/cpython/run_switches.h"
#include "frontend/driver/compile_frame.h"

namespace md {

enum class RunOutcome : std::uint8_t { Done, Plain /* run the original code */, Raised };

// Done: `result` is the frame's return value. Raised: a Python exception is set. Plain: the caller runs the original
// code within a Replaying (plan/opaque_calls.h).
RunOutcome run_frame(const FrameRequest& request, PyRef& result);
// The same where the look-up has taken place: with the entry it found and what the guards handed out, which is still
// valid; or where it found none.
RunOutcome run_found(EntryRef entry, const LoadedValues& found, const FrameRequest& request, PyRef& result);
// A hit on an entry that gives one output of its graph and does nothing else, so that no code of the program runs
// before the result is there and nothing has to be ready for a break. Null: a Python exception is set; or nothing has
// been done and `repeat` is true, where a new look-up and run_found() find out what is to become of it.
bool is_single(const Entry& entry);
PyObject* run_single(const Entry& entry, PyCodeObject* code, const LoadedValues& found, const FrameArgs& args,
                     bool& repeat);
RunOutcome run_missed(const FrameRequest& request, PyRef& result);

// A frame that was just entered owns its arguments: what the driver held of them for the call is given up.
void release_passed_on();

// Those of the innermost compiled function on this thread; null outside.
CompileOptions*& current_options();

}  // namespace md
