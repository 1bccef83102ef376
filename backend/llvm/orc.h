// Machine code from LLVM modules. Everything that touches ORC, JITLink or TargetMachine is behind this header.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class Module;
}

namespace md {

// What the host's vector unit offers; decided once per process.
struct HostTarget {
  int vector_bytes = 16;      // 64, 32 or 16
  bool half_moves = false;    // converts float16 (F16C)
  bool masked_moves = false;  // masked loads and stores of every element width (AVX-512 BW+VL)
};
const HostTarget& host_target();

// While one exists, fork() waits: hold it around all work with LLVM and the locks taken meanwhile.
class ForkGate {
 public:
  ForkGate();
  ~ForkGate();
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;
};

// Owns loaded machine code; the memory is returned when it dies.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  void* entry = nullptr;  // address of the function the module was compiled for
};

// Sets triple and data layout; call before emitting into the module.
void prepare_module(llvm::Module& module);
// Generates code for `module` and loads it; `entry` names the function wanted. Under a ForkGate. Thread-safe. Throws
// InternalError.
std::unique_ptr<LoadedCode> load_module(llvm::Module& module, const std::string& entry);

}  // namespace md
