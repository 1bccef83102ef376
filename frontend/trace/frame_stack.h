// The symbolic frames of a trace: the root frame, and above it the calls that are traced in place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/bytecode/instruction.h"
#include "frontend/report/events.h"
#include "frontend/trace/value.h"

namespace md {

enum class OnReturn : std::uint8_t {
  Push,
  DiscardAndPush /* __init__: push `held` */,
  Stop /* nested run: leave in `result` */
};

// A context manager entered in traced code, in the order of entry.
struct ActiveContext {
  Ref<Value> manager;  // ContextValue or Object
  int stack_index;     // of its exit function
};

struct SymbolicFrame {
  std::shared_ptr<const CodeBody> body;
  PyRef code, globals, builtins;
  bool own_globals = true;  // the root frame's globals: sources print as G['x']
  std::vector<ValueRef> slots, stack;
  Ref<Value> names;  // a DictValue: the namespace of a class body
  std::vector<ActiveContext> contexts;
  int pc = 0;       // next instruction
  int current = 0;  // executing instruction
  int last_line = -1;
  OnReturn on_return = OnReturn::Push;
  ValueRef held, result;
  bool finished = false;
  bool is_generator = false, yielded = false;
  int inline_depth = 0;
  std::vector<ValueRef> handled;  // exceptions being handled, innermost last
  std::string printed_name;       // "fn" or "torch_dynamo_resume_in_fn_at_5"

  const Instruction& instruction() const { return body->instructions[static_cast<std::size_t>(current)]; }
  bool is_library() const;  // its code is the package's, traced in place of a library's
  void push(ValueRef v) { stack.push_back(std::move(v)); }
  ValueRef pop() {
    ValueRef v = std::move(stack.back());
    stack.pop_back();
    return v;
  }
  ValueRef& top(int n = 1) { return stack[stack.size() - static_cast<std::size_t>(n)]; }

 private:
  mutable std::optional<bool> library_;
};

struct FrameStack {
  std::vector<std::unique_ptr<SymbolicFrame>> frames;  // the root frame first
  // --- how far the root frame has come
  long ordinal = 0;      // instructions executed
  int break_places = 0;  // places so far at which it could resume
  // Where it could go on as plain Python: the last instruction outside of exception handlers, and the last one at which
  // nothing lies on the stack either.
  struct RootPlace {
    long ordinal = 0;
    int instruction = -1;
  } unhandled, bare;
  long steps = 0;  // instructions executed in all frames
  // --- frames that are left and come back
  std::vector<ValueRef> cleanups;         // generators that were suspended inside try or with
  std::unique_ptr<SymbolicFrame> parked;  // by YIELD_VALUE, for resume_generator
  ValueRef nested_result;
  // --- stacks of nodes. Nodes of one line share theirs: of so many stacks the last, by what they hash to.
  static constexpr std::size_t kStacksKept = 128;
  struct KnownStack {
    std::vector<std::pair<std::shared_ptr<const CodeBody>, int>> lines;
    UserStack stack;
  };
  mutable std::vector<KnownStack> known_stacks;
};

}  // namespace md
