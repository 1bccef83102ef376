// The two code objects a graph break needs: one that executes just the breaking instruction in the user's frame, one
// that resumes after it.
#pragma once

#include "frontend/bytecode/instruction.h"

namespace md {

// A library context manager open at the break: re-entered around the breaking instruction and in the resume prologue.
// Its exit function is stack item `stack_index`; class and arguments travel as parameters in its place.
struct OpenContext {
  int stack_index;
  PyRef cls;
  std::vector<PyRef> args;  // constants
};

struct BreakLayout {
  int instruction = -1;             // index of the breaking instruction in `body`
  std::vector<bool> stack_is_null;  // bottom to top, at the breaking instruction
  std::vector<bool> slot_bound;  // plain locals that hold a value; cells and frees are always passed, as cell objects
  std::vector<OpenContext> contexts;
};

// Parameters of both functions: `slots` (localsplus indices of the original, in order), then the stack items that are
// not NULL, bottom to top. Cell objects are passed as themselves.
struct SplitCode {
  PyRef break_code;         // runs the instruction; returns a tuple: the non-NULL stack items after it, bottom to top.
                            // A conditional jump returns (taken: bool, *stack) instead.
  PyRef resume_code;        // fall-through (or not taken)
  PyRef resume_code_taken;  // conditional jumps only
  std::vector<int> slots;
  std::vector<bool> resume_stack_is_null;  // layout of the stack parameters of resume_code
};

// Names follow the reference: "torch_dynamo_resume_in_<name>_at_<line>" is what logs print; co_name stays the user's
// and the printed name is kept in co_qualname's place by the caller. Every instruction that can raise keeps its line.
SplitCode split(PyCodeObject* original, const CodeBody& body, const BreakLayout& layout);

}  // namespace md
