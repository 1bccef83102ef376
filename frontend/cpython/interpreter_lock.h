// Letting go of the interpreter's lock while a kernel takes long, and what happens to a thread that wants it back when
// there is no interpreter any more.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

namespace md {

// Calls `f`, which waits for the lock or runs Python code. While the interpreter ends, CPython ends a daemon thread
// that asks for the lock by unwinding its stack, on which our objects hold references nobody may touch then. The thread
// sleeps until the process is gone instead.
template <class F>
auto or_sleep_at_exit(F&& f) {
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// After the atexit functions: modules go, and finalisers still run.
bool is_interpreter_ending();

// Makes LongWork (ir/run/long_work.h) release the lock of a thread that holds it. Idempotent.
void install_host_lock();

}  // namespace md
