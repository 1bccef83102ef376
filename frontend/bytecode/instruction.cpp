// Names of canonical instructions, and the constants and slots of a body.
#include "frontend/bytecode/instruction.h"

namespace md {

const char* opcode_name(Opcode op) {
  static constexpr const char* kNames[] = {
#define MD_OPCODE(name, ...) #name,
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE
  };
  return kNames[static_cast<int>(op)];
}

int CodeBody::slot(const char* name) const {
  for (std::size_t i = 0; i < slot_names.size(); ++i) {
    if (PyUnicode_CompareWithASCIIString(slot_names[i].get(), name) == 0) return static_cast<int>(i);
  }
  return -1;
}

int CodeBody::add_const(PyRef v) {
  for (std::size_t i = 0; i < consts.size(); ++i) {
    if (consts[i].get() == v.get()) return static_cast<int>(i);
  }
  consts.push_back(std::move(v));
  return static_cast<int>(consts.size()) - 1;
}

}  // namespace md
