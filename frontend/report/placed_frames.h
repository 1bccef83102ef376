// Frames of the user's program with what they were executing: lines and columns of one instruction, for carets.
#pragma once

#include <vector>

#include "frontend/report/events.h"

namespace md {

// Columns count UTF-8 bytes; -1: not known.
struct PlacedFrame {
  UserFrame frame;
  int end_line = -1, column = -1, end_column = -1;
};
using PlacedFrames = std::vector<PlacedFrame>;

PyRef frames_list(const PlacedFrames& frames);  // [(file, line, function, (end line, column, end column))]
std::vector<UserFrame> without_columns(const PlacedFrames& frames);
PyRef hint_list(const GraphBreak& b);
PyRef break_parts_call(const char* function, const GraphBreak& b, const PlacedFrames& frames);
// As for frames without columns: throws PythonError.
[[noreturn]] void raise_unsupported(const GraphBreak& b, const PlacedFrames& frames);

}  // namespace md
