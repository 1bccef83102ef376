// The driver: runs a frame's compiled entry and, after a break, whatever follows, without nesting Python frames.
#pragma once

#include "frontend/compile_frame.h"

namespace md {

enum class RunOutcome : std::uint8_t { Done, Plain /* run the original code */, Raised };

// Done: `result` is the frame's return value. Raised: a Python exception is set.
RunOutcome run_frame(const FrameRequest& request, PyRef& result);

// Stances and switches that make compiled functions run as plain Python.
struct RunSwitches {
  bool disabled = false;      // config.disable, MINIDYNAMO_DISABLE
  bool while_traced = false;  // config.compile_while_traced
};
RunSwitches& run_switches();

// The innermost compiled region of this thread; null outside.
Region*& current_region();

}  // namespace md
