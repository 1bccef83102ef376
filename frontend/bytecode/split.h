// The code objects a graph break needs: one that executes just the breaking instruction in a frame that looks like the
// user's, and ones that resume after it. The caller runs them one after the other (a trampoline), so no Python frame is
// ever nested. Functions are made with PyFunction_New(code, globals): free variables arrive as arguments, the function
// has no closure.
#pragma once

#include "frontend/bytecode/instruction.h"

namespace md {

// A library context manager open at the break: re-entered around the breaking instruction and in the resume prologue.
// Its exit function is stack item `stack_index`; the class is passed as the parameter of that item.
struct OpenContext {
  int stack_index;
  PyRef cls;
  std::vector<PyRef> args;  // constants
};

// What is live before an instruction.
struct BreakLayout {
  int instruction = -1;             // index in the body
  std::vector<bool> stack_is_null;  // bottom to top
  std::vector<bool> slot_bound;     // plain locals that hold a value worth passing; cells are found by data flow
  std::vector<OpenContext> contexts;
};

struct SplitParameter {
  enum class Kind {
    StackItem,      // index: position in the stack, NULLs counted; an exit function: the class of its OpenContext
    Slot,           // index: localsplus slot of the original; for cells and frees the cell object itself
    FirstArgument,  // the content of the cell in slot 0 (zero-argument super() looks at slot 0)
    Nothing,        // None: keeps slot 0 taken
  };
  Kind kind;
  int index = -1;
};

// A code object whose parameters, all positional, are filled as told.
struct PartCode {
  PyRef code;
  std::vector<SplitParameter> parameters;
  explicit operator bool() const { return static_cast<bool>(code); }
};

struct SplitCode {
  // Returns the non-NULL stack items after the instruction, bottom to top, as a tuple; at the place of an exit function
  // its class. An instruction that may jump (POP_JUMP_IF, FOR_ITER) puts in front whether it did.
  PartCode break_part;
  PartCode resume;        // after the instruction; none if it never falls through
  PartCode resume_taken;  // at its target; conditional jumps only
  std::vector<bool> resume_stack_is_null, taken_stack_is_null;
  int line = -1;  // of the break: "torch_dynamo_resume_in_<name>_at_<line>"; co_name and co_qualname stay the user's
};

// InternalError if the code is a generator's, not a function's, or the instruction cannot be split off.
SplitCode split(const CodeBody& body, const BreakLayout& layout);

// Code that starts in the middle: at layout.instruction with that stack and those slots.
PartCode resume_at(const CodeBody& body, const BreakLayout& layout);

// How slots of parameters are called, with a number or the cell's name behind.
constexpr const char* kStackParameter = "___stack";
constexpr const char* kCellParameter = "cell ";

// Rewrites method-form attribute loads into plain ones and a NULL, so that the form of every stack item is known.
void make_methods_plain(CodeBody& body);

}  // namespace md
