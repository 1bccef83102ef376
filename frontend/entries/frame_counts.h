// How frames ended, per function: what `python -m minidynamo run --report` writes. Off by default: then nothing is kept
// and a frame pays one test of a flag.
#pragma once

#include <string>

#include "frontend/cpython/py_ref.h"
#include "frontend/report/graph_break.h"

namespace md {

struct FrameNotes;

// Of one function: calls and, by graph-break code or reason, how often its traces broke and its frames ran plain. Rows
// stay for the life of the process, also when their code object dies.
struct FrameCounts;

bool counting_frames();
void count_frames(bool on);  // rows made so far stay

// A frame was replaced: to its end, or up to a graph break. Of split code nothing is counted. They raise nothing.
void count_replaced(PyCodeObject* code, bool broke);
// A frame that could have been replaced ran as plain Python.
void count_skipped(PyCodeObject* code);

// A trace of `code` met a break that it goes on after.
void count_break(PyCodeObject* code, const GraphBreak& b);
// The frame will run plain because of `b`; `place`: "loop" and the like, why it could not be split.
void count_break(PyCodeObject* code, const GraphBreak& b, const std::string& place);
// Why frames of this code run plain from now on.
void note_plain_reason(PyCodeObject* code, const std::string& reason);
// What happens to resume code is counted where it was split from.
void share_counts(PyCodeObject* from, FrameNotes& with);

// [{"file", "line", "name", "whole", "partly", "skipped", "breaks": {code: n}, "skips": {reason: frames},
//   "details": {code and context: n}}]. Throws PythonError.
PyRef frame_counts_list();

}  // namespace md
