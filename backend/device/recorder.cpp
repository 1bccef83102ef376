// Which recorder a thread has.
#include "backend/device/recorder.h"

namespace md::device {

static thread_local Recorder* current = nullptr;

Recorder* current_recorder() { return current; }

RecordingScope::RecordingScope(Recorder& to) : outer_(current) { current = &to; }
RecordingScope::~RecordingScope() { current = outer_; }

}  // namespace md::device
