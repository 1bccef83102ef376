// Machine code from LLVM modules, for any target. Everything that touches llvm::TargetMachine is behind this header.
#pragma once

#include <string>

#include "backend/machine/target.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace md {

// The processor this process runs on, or the lesser one of the same kind that MINIDYNAMO_CPU names ("x86-64-v3"):
// results are the same, to the bit. Looked at once per process.
const Target& host_target();
// A processor by the name the code generator has for it, for code that need not run here. Throws InternalError for an
// unknown name.
Target cpu_target(const std::string& cpu);

// Sets triple and data layout; call before emitting into the module. Throws bad_alloc where memory may not suffice.
void prepare_module(llvm::Module& module, const Target& target);
// The bytes of a relocatable object (ELF). The same module and target give the same bytes in every process. Under a
// ForkGate. Thread-safe. Throws InternalError.
std::string generate_object(llvm::Module& module, const Target& target);
// The same as text: what GPUs' drivers take. Throws InternalError.
std::string generate_assembly(llvm::Module& module, const Target& target);

}  // namespace md
