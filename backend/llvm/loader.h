// Machine code made callable: objects are linked into the process, the functions they call found by name. Everything
// that touches ORC and JITLink is behind this header.
#pragma once

#include <memory>
#include <string>

namespace md {

// Owns loaded machine code; the memory is returned when it dies.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  void* entry = nullptr;  // address of the function the object was made for
};

// `object` is the bytes of an ELF object; `entry` names the function wanted; objects loaded at the same time may use
// the same names. Under a ForkGate. Thread-safe. Throws InternalError.
std::unique_ptr<LoadedCode> load_object(const std::string& object, const std::string& entry);

}  // namespace md
