// Calling C++ from the middle of a vector loop without disturbing its registers.
#pragma once

#include <cstdint>

namespace md {

// Replaces y[i] by the function's value at x[i] wherever bit i of `rare` is set.
using RareFunction = void (*)(const void* x, void* y, std::uint64_t rare);

// Code that calls rdi(rsi, rdx, rcx) and changes no register at all, so that the code generator may treat the call as
// one opaque instruction and keeps everything live in registers around it.
const void* rare_call_entry();

}  // namespace md
