// What a program calls once at start to have a backend.
#pragma once

namespace md {

// Registers backend "llvm".
void install_llvm_backend();

}  // namespace md
