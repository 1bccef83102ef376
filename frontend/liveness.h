// Which local slots may still be read after an instruction.
#pragma once

#include <vector>

#include "frontend/bytecode/instruction.h"

namespace md {

// live[slot] on entry to the successors of `instruction`. Code that looks at its own frame (locals(), eval, ...) keeps
// everything alive.
std::vector<bool> live_after(const CodeBody& body, int instruction);

}  // namespace md
