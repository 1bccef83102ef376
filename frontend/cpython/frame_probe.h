// Import-time check that frames look as this file was compiled for.
#pragma once

namespace md {

// Runs a small function under a hook of its own: every field that frame_access reads must be what the function says, a
// finished frame must return its result or exception, and nothing may leak. Clears its own errors.
bool probe_frames();

}  // namespace md
