// One of the code objects of a split under construction: slots, parameters and the prologue that restores the state.
#pragma once

#include <functional>

#include "frontend/bytecode/split.h"

namespace md {

constexpr std::uint8_t kHoldsCell = kSlotCell | kSlotFree;

// super() without arguments takes the frame's slot 0 for self.
bool reads_first_argument(const CodeBody& body);

class SplitPart {
 public:
  // `bound`: slots that are passed. Code of ours gets the position `at`. All of it must outlive the part.
  SplitPart(const CodeBody& body, const BreakLayout& layout, const std::vector<bool>& bound, const Position& at);

  CodeBody& out() { return out_; }
  int new_slot(int old) const { return new_slot_[old]; }
  int stack_slot(int item) const { return stack_slot_[item]; }

  // `used`: original slots the code mentions beside the passed ones. `scratch`: slots for as many stack items.
  void lay_out_slots(const std::vector<bool>& used, int scratch);

  // What covers the code after the k-th context was entered, whose exit function is stack item `item`.
  using HandlerOf = std::function<Handler(int k, int item)>;
  // Restores cells, then the stack, entering the contexts on the way. `keep_classes`: their parameters are needed
  // again.
  void prologue(bool keep_classes, const HandlerOf& handler_of);

  Instruction& emit(Opcode op, int a = 0, int b = 0);
  int size() const { return static_cast<int>(out_.instructions.size()); }
  int constant(PyObject* o) { return out_.add_const(PyRef::borrow(o)); }
  void set_handler(const Handler& h) { handler_ = h; }
  // The exit function on top of the stack is called with three Nones and popped.
  void leave_context();
  PartCode finish() { return {assemble(out_), parameters_}; }

 private:
  int add_slot(PyRef name, std::uint8_t kind);
  void first_parameter();
  void stack_parameters();
  std::vector<int> slot_parameters();
  void add_unbound(const std::vector<bool>& used, bool cells);
  bool has_slot_name(const PyRef& name) const;
  const OpenContext* context_at(int item) const;
  void enter(const OpenContext& context);

  const CodeBody& body_;
  const BreakLayout& layout_;
  const std::vector<bool>& bound_;
  Position at_;
  Handler handler_;
  CodeBody out_;
  std::vector<SplitParameter> parameters_;
  std::vector<int> new_slot_;    // original slot → slot here, -1: not mentioned
  std::vector<int> stack_slot_;  // stack item → slot of its parameter or scratch slot
  std::vector<int> moved_cells_, cell_parameters_;
  bool drop_first_ = false;
};

}  // namespace md
