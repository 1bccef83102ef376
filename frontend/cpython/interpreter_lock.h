// Letting go of the interpreter's lock while a kernel takes long.
#pragma once

namespace md {

// Makes LongWork (ir/long_work.h) release the lock of a thread that holds it. Idempotent.
void install_interlude();

}  // namespace md
