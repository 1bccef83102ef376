// When a function is compiled again: how often it may be, and what the user is told of it.
#pragma once

#include <chrono>

#include "frontend/driver/compile_frame.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/guards/explain.h"

namespace md {

// Entries die with the objects they were made for, before a call finds them: after some in a row, reported once, code
// is made again only where as many calls again have come, and the function runs as plain Python otherwise. Throws
// PythonError.
bool compiled_in_vain(const FrameRequest& r, const FrameNotes& notes);

// Over the limit of entries: reported once, then the function runs as plain Python on a miss. Throws PythonError where
// that is not allowed.
bool over_limit(const FrameRequest& r, FrameNotes& notes);
// The same for a function without entries, which a limit of 0 lets have none.
bool over_limit(const FrameRequest& r, FrameNotes& notes, const TraceConfig& config);

// One compilation, for logs and utils.get_compilation_metrics().
class CompileReport {
 public:
  explicit CompileReport(const FrameRequest& r) : request_(r) {}
  // The function has been looked at before: if it was compiled, logs why that does not fit. Throws PythonError where
  // recompiling is an error.
  void before(const FrameNotes& notes);
  void after(const Entry& made) const;

 private:
  void log_failures(const FrameNotes& notes) const;

  const FrameRequest& request_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  Failure failure_;  // of the newest entry; empty: compiled for the first time
};

}  // namespace md
