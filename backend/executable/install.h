// What a program calls once at start to have a backend.
#pragma once

namespace md {

// Registers backend "llvm".
void install_llvm_backend();
// Eager execution: the block engine and the caching allocator. Idempotent, thread-safe.
void install_block_engine();
// Call before the process is torn down: joins the worker threads.
void shut_down_block_engine();

}  // namespace md
