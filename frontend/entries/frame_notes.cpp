#include "frontend/entries/frame_notes.h"

namespace md {

FrameNotes& frame_notes(PyCodeObject* code) {
  CodeState& state = ensure_code_state(code);
  if (!state.notes) state.notes = std::make_shared<FrameNotes>();
  return static_cast<FrameNotes&>(*state.notes);
}

FrameNotes* find_frame_notes(PyCodeObject* code) {
  CodeState* state = code_state(code);
  return state ? static_cast<FrameNotes*>(state->notes.get()) : nullptr;
}

std::shared_ptr<FrameNotes> held_frame_notes(PyCodeObject* code) {
  CodeState* state = code_state(code);
  return state ? std::static_pointer_cast<FrameNotes>(state->notes) : nullptr;
}

std::shared_ptr<const CodeBody> decoded_body(PyCodeObject* code) {
  FrameNotes& notes = frame_notes(code);
  if (!notes.body) notes.body = decode(code);
  return notes.body;
}

}  // namespace md
