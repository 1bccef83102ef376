// Frames of the user's program as Python objects, and reports of breaks at them.
#include "frontend/report/placed_frames.h"

namespace md {

namespace {

PlacedFrames placed(const std::vector<UserFrame>& frames) {
  PlacedFrames out;
  for (const UserFrame& f : frames) out.push_back({f});
  return out;
}

}  // namespace

PyRef frames_list(const PlacedFrames& frames) {
  PyRef list = checked(PyList_New(0));
  for (const PlacedFrame& f : frames) {
    const PyRef columns = checked(Py_BuildValue("(iii)", f.end_line, f.column, f.end_column));
    const PyRef place = checked(PyTuple_Pack(4, py_str(f.frame.file).get(), py_int(f.frame.line).get(),
                                             py_str(f.frame.function).get(), columns.get()));
    checked(PyList_Append(list.get(), place.get()));
  }
  return list;
}

PyRef frames_list(const std::vector<UserFrame>& frames) { return frames_list(placed(frames)); }

std::vector<UserFrame> without_columns(const PlacedFrames& frames) {
  std::vector<UserFrame> out;
  for (const PlacedFrame& f : frames) out.push_back(f.frame);
  return out;
}

PyRef hint_list(const GraphBreak& b) {
  PyRef hints = checked(PyList_New(0));
  for (auto& h : b.hints) checked(PyList_Append(hints.get(), py_str(h).get()));
  return hints;
}

PyRef break_parts_call(const char* function, const GraphBreak& b, const PlacedFrames& frames) {
  return report(function, {py_int(b.code), py_str(b.type), py_str(b.context), py_str(b.explanation), hint_list(b),
                           frames_list(frames)});
}

PyRef break_parts_call(const char* function, const GraphBreak& b, const std::vector<UserFrame>& frames) {
  return break_parts_call(function, b, placed(frames));
}

void raise_unsupported(const GraphBreak& b, const PlacedFrames& frames) {
  PyRef error = break_parts_call("raised", b, frames);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  throw PythonError{};
}

void raise_unsupported(const GraphBreak& b, const std::vector<UserFrame>& frames) {
  raise_unsupported(b, placed(frames));
}

}  // namespace md
