// What a program calls once at start to have a backend.
#pragma once

#include <string>

namespace md {

// Why MINIDYNAMO_CPU cannot be followed: empty if it can, or is not set. To be asked before anything is installed.
std::string unusable_cpu();

// Registers backend "llvm".
void install_llvm_backend();
// Eager execution: the block engine and the caching allocator. Idempotent, thread-safe.
void install_block_engine();
// Call before the process is torn down: joins the worker threads.
void shut_down_block_engine();

}  // namespace md
