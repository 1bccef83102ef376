// Finds and makes the notes of a code object, and forgets what concerned one set of options.
#include "frontend/entries/frame_notes.h"

namespace md {

// Code we have split runs in calls that are under way: it stays what it is.
std::shared_ptr<CodeNotes> FrameNotes::kept() const {
  if (!is_split) return nullptr;
  auto fresh = std::make_shared<FrameNotes>();
  fresh->is_split = true;
  fresh->skip = split_runs_plain;
  fresh->split_runs_plain = split_runs_plain;
  fresh->is_breaking = is_breaking;
  fresh->printed_name = printed_name;
  fresh->counts = counts;
  return fresh;
}

void FrameNotes::forget(const CompileOptions* options) {
  if (limited == options) limited = nullptr;
  if (quiet.options == options) quiet = {};
}

FrameNotes& frame_notes(PyCodeObject* code) {
  CodeState& state = ensure_code_state(code);
  if (!state.notes) state.notes = std::make_shared<FrameNotes>();
  return static_cast<FrameNotes&>(*state.notes);
}

FrameNotes* find_frame_notes(PyCodeObject* code) {
  CodeState* state = code_state(code);
  return state ? static_cast<FrameNotes*>(state->notes.get()) : nullptr;
}

std::shared_ptr<FrameNotes> own_frame_notes(PyCodeObject* code) {
  frame_notes(code);
  return held_frame_notes(code);
}

std::shared_ptr<FrameNotes> held_frame_notes(PyCodeObject* code) {
  CodeState* state = code_state(code);
  return state ? std::static_pointer_cast<FrameNotes>(state->notes) : nullptr;
}

std::shared_ptr<const CodeBody> decoded_body(PyCodeObject* code) {
  const std::shared_ptr<FrameNotes> notes = own_frame_notes(code);
  if (!notes->body) notes->body = decode(code);
  return notes->body;
}

}  // namespace md
