// Tracer: where in the user's program the trace is; frames of library code count to the call that led there.
#include <algorithm>

#include "frontend/report/source_lines.h"
#include "frontend/trace/frame_places.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {

bool SymbolicFrame::is_library() const {
  if (!library_) library_ = in_polyfills(globals.get());
  return *library_;
}

UserFrame Tracer::frame_location(const SymbolicFrame& f) const {
  UserFrame u;
  u.file = text_of(f.body->filename.get());
  u.function = f.printed_name;
  u.line = f.instruction().pos.line;
  // What the compiler adds by itself has no line: it counts to what was executed before.
  for (int k = f.current; u.line < 0 && k >= 0; --k)
    u.line = f.body->instructions[static_cast<std::size_t>(k)].pos.line;
  if (u.line < 0) u.line = f.body->firstlineno;
  u.line_text = source_lines.stripped(f.body->filename.get(), u.line, f.globals.get());
  return u;
}

std::vector<UserFrame> Tracer::user_frames() const {
  std::vector<UserFrame> out;
  for (auto& f : stack.frames)
    if (!f->is_library()) out.push_back(frame_location(*f));
  return out;
}

PlacedFrames placed_frames(const Tracer& t) {
  PlacedFrames out;
  const std::vector<UserFrame> frames = t.user_frames();
  for (auto& f : t.stack.frames) {
    if (f->is_library()) continue;
    const Position& at = f->instruction().pos;
    out.push_back({frames[out.size()], at.end_line, at.column, at.end_column});
  }
  return out;
}

UserFrame Tracer::user_frame() const {
  for (auto f = stack.frames.rbegin(); f != stack.frames.rend(); ++f)
    if (!(*f)->is_library()) return frame_location(**f);
  return {};
}

UserStack Tracer::user_stack() const {
  SmallVector<const SymbolicFrame*, 16> inside;
  std::size_t hash = 0;
  for (auto& f : stack.frames) {
    if (f->is_library()) continue;
    inside.push_back(f.get());
    hash =
        hash * 31 + std::hash<const void*>()(f->body.get()) / 64 + static_cast<std::size_t>(f->instruction().pos.line);
  }
  stack.known_stacks.resize(FrameStack::kStacksKept);
  FrameStack::KnownStack& known = stack.known_stacks[hash % FrameStack::kStacksKept];
  const auto is_at = [](const SymbolicFrame* f, const auto& line) {
    return f->body == line.first && f->instruction().pos.line == line.second;
  };
  if (known.stack && std::ranges::equal(inside, known.lines, is_at)) return known.stack;
  known.lines.clear();
  for (const SymbolicFrame* f : inside) known.lines.emplace_back(f->body, f->instruction().pos.line);
  return known.stack = std::make_shared<const std::vector<UserFrame>>(user_frames());
}

}  // namespace md
