// Entries, frames and breaks as parts that are measured (ir/run/observed_parts.h).
#pragma once

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

int init_measured(PyObject* module);

}  // namespace md
