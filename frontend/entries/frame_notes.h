// What the frontend remembers of a code object besides its entries.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "frontend/bytecode/split.h"
#include "frontend/entries/code_cache.h"
#include "frontend/entries/compile_options.h"
#include "frontend/trace/dynamic_sizes.h"

namespace md {

struct FrameCounts;
struct ResumeOrigin;
struct SplitFamily;

// Visits in a row of a skipped frame, under the same options and with the same globals, below which there was nothing
// to compile.
struct QuietVisits {
  const CompileOptions* options = nullptr;
  std::uint64_t globals_version = 0;
  unsigned count = 0;
};

// Objects with a __del__ which the frame makes and lets go of where no trace can say it.
enum class LostObjects : std::uint8_t { None, Found, Known };

struct FrameNotes final : CodeNotes {
  std::shared_ptr<const CodeBody> body;  // decoded once
  int frame_id = -1;                     // order of first compile; -1: never compiled
  int entries_made = 0;
  ObservedInputs observed;
  bool skip = false;              // run as plain Python, callees still compiled
  bool broke = false;             // so does a frame that could not be split; not under fullgraph, which must report it
  bool skip_recursively = false;  // and so is everything below
  const CompileOptions* limited = nullptr;  // has as many entries as it may have
  unsigned limited_misses = 0;              // since then
  QuietVisits quiet;
  bool ran_eagerly = false;              // under the stance eager_then_compile, whose second call compiles
  bool left_alone = false;               // entered as a frame of its own without tensors in sight, which was logged
  bool compiling = false;                // by some thread, right now
  bool is_split = false;                 // a break or resume code of ours
  bool split_runs_plain = false;         // one that is never compiled
  bool is_breaking = false;              // and executes a breaking instruction
  bool own_code = false;                 // of this package, which `run --everything` leaves alone
  FrameCounts* counts = nullptr;         // its row, if frames are counted
  std::string plain_reason;              // and why frames run as plain Python
  std::shared_ptr<SplitFamily> family;   // what it was split into at breaks
  std::shared_ptr<ResumeOrigin> origin;  // of resume code
  std::vector<std::pair<BreakLayout, PartCode>> leaves;  // entries that leave a frame alike share what follows
  std::set<std::string> varying;                         // sources at which guards have failed too often
  int failures = 0;                                      // calls of which nothing could be compiled
  int carried = 0;                                       // entries with guards of what broke (carried_guards.h)
  bool general = false;                                  // the entry being made has none
  LostObjects lost_objects = LostObjects::None;          // Found: by the trace that has just ended
  int generalised = 0;                                   // how many times more entries were allowed for that
  std::string printed_name;                              // "torch_dynamo_resume_in_fn_at_5"; empty: co_name
  SiteSlot plain_site, guards_site;                      // of frames that run as plain Python, of looking for an entry

  std::shared_ptr<CodeNotes> kept() const override;
  void forget(const CompileOptions* options) override;
  // True once: the frame is to be traced again.
  bool takes_lost_objects() {
    const bool found = lost_objects == LostObjects::Found;
    if (found) lost_objects = LostObjects::Known;
    return found;
  }
  bool runs_plain(const CompileOptions& options) const { return skip || (broke && !options.fullgraph); }
  bool runs_plain_below(const CompileOptions& options) const { return skip_recursively && !options.fullgraph; }
};

// Both are valid until Python code runs: it may call reset(), and so may another thread then.
FrameNotes& frame_notes(PyCodeObject* code);       // made on first use; throws PythonError
FrameNotes* find_frame_notes(PyCodeObject* code);  // null if there are none
// The same for whoever runs Python code meanwhile.
std::shared_ptr<FrameNotes> own_frame_notes(PyCodeObject* code);   // made on first use; throws PythonError
std::shared_ptr<FrameNotes> held_frame_notes(PyCodeObject* code);  // null if there are none
void reset_frame_ids();                                            // compile ids start at 0 again
std::shared_ptr<const CodeBody> decoded_body(PyCodeObject* code);

}  // namespace md
