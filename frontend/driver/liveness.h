// Which local slots may still be read after an instruction.
#pragma once

#include <vector>

#include "frontend/bytecode/instruction.h"
#include "frontend/trace/value.h"

namespace md {

// A program can see when the object dies (weak references, __del__): a local variable keeps it to the end of the
// function also where nothing reads it again. Tensors and constants are no such objects.
bool end_is_seen(const ValueRef& v, int depth);

// live[slot] on entry to the successors of `instruction`. Code that looks at its own frame (locals(), eval, ...) keeps
// everything alive.
std::vector<bool> live_after(const CodeBody& body, int instruction);
// The same on entry to `instruction`.
std::vector<bool> live_before(const CodeBody& body, int instruction);

}  // namespace md
