// Entries, frames and breaks as parts that are measured (ir/run/observed_parts.h).
#pragma once

#include "frontend/driver/compile_frame.h"
#include "frontend/entries/code_cache.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/plan/plan.h"

namespace md {

// What is measured: the run of an entry, of what follows a break in it, a frame as plain Python, a look for an entry.
PartName about_code(PartKind kind, PyCodeObject* code);
PartName about_entry(PartKind kind, const Entry& entry, PyCodeObject* code);
// Null: nobody asked for a compilation of this code, or nothing is known of it.
inline const SiteSlot* plain_slot(const FrameNotes* notes) {
  return notes && !notes->is_breaking ? &notes->plain_site : nullptr;  // that is measured as a break
}
inline const SiteSlot* guards_slot(const FrameNotes* notes) { return notes ? &notes->guards_site : nullptr; }

// Around a frame that runs as plain Python.
class ObservedPlain : Observed {
 public:
  ObservedPlain(const FrameNotes* notes, PyCodeObject* code)
      : Observed([&] { return plain_slot(notes); }, [&] { return about_code(PartKind::Plain, code); }) {}
  explicit ObservedPlain(PyCodeObject* code)
      : Observed([&] { return plain_slot(find_frame_notes(code)); },
                 [&] { return about_code(PartKind::Plain, code); }) {}
};

// An entry that fits, if there is one; the search is measured.
template <class Slot>
[[gnu::noinline]] EntryRef measured_look_up(const FrameRequest& r, LoadedValues& found, const Slot& slot) {
  const Observed observed(slot, [&] { return about_code(PartKind::Guards, r.code); });
  return find_entry(r.code, r.options, r.args, found);
}
template <class Slot>
EntryRef look_up(const FrameRequest& r, LoadedValues& found, const Slot& slot) {
  if (is_anything_observed()) [[unlikely]]
    return measured_look_up(r, found, slot);
  return find_entry(r.code, r.options, r.args, found);
}

// run_single_output() of an entry, measured.
[[gnu::cold]] PyObject* measured_single(const Entry& entry, const EntryPlan& plan, PyCodeObject* code,
                                        const FrameArgs& args, PyObject* const* found, bool& committed);

int init_measured(PyObject* module);

}  // namespace md
