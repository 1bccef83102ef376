// Entries, frames and breaks as parts that are measured (ir/run/observed_parts.h).
#pragma once

#include "frontend/driver/compile_frame.h"
#include "frontend/entries/code_cache.h"
#include "frontend/plan/plan.h"

namespace md {

struct FrameNotes;

const PartSite* region_site(const Entry& entry, PyCodeObject* code);
const PartSite* break_site(const BreakPoint& point);
const PartSite* rest_site(const Entry& entry, const BreakPoint& point, PyCodeObject* code);
// Null: nobody asked for a compilation of this code, or nothing is known of it.
const PartSite* plain_site(PyCodeObject* code);
const PartSite* plain_site(PyCodeObject* code, const FrameNotes& notes);
const PartSite* guards_site(PyCodeObject* code, const FrameNotes* notes);
const PartSite* guards_site(PyCodeObject* code, const BreakPoint::Part& part);
const PartSite* compile_site();

// An entry that fits, if there is one; the search is measured under what `site()` gives.
template <class Site>
[[gnu::noinline]] EntryRef measured_look_up(const FrameRequest& r, LoadedValues& found, const Site& site) {
  const Observed observed(site);
  return find_entry(r.code, r.options, r.args, found);
}

template <class Site>
EntryRef look_up(const FrameRequest& r, LoadedValues& found, const Site& site) {
  if (is_anything_observed()) [[unlikely]]
    return measured_look_up(r, found, site);
  return find_entry(r.code, r.options, r.args, found);
}

int init_measured(PyObject* module);

}  // namespace md
