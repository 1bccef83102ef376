// Lays out a part's slots and parameters, and writes the prologue that restores stack, cells and contexts.
#include "frontend/bytecode/split_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bytecode/raw_opcodes.h"

namespace md {
namespace {

using Kind = SplitParameter::Kind;

constexpr int kFutureFlags = 0x1FE0000;
constexpr int kAfterYieldFrom = 2;  // argument of a RESUME that does not let other threads run

PyRef text(const std::string& s) { return checked(PyUnicode_FromStringAndSize(s.data(), s.size())); }

std::string utf8(const PyRef& s) {
  const PyRef bytes = checked(PyUnicode_AsEncodedString(s.get(), "utf-8", "surrogatepass"));
  return PyBytes_AS_STRING(bytes.get());
}

}  // namespace

bool reads_first_argument(const CodeBody& body) {
  if (body.argcount == 0) return false;
  for (std::size_t k = 0; k < body.slot_names.size(); ++k) {
    const bool is_free = body.slot_kinds[k] & kSlotFree;
    if (is_free && PyUnicode_CompareWithASCIIString(body.slot_names[k].get(), "__class__") == 0) return true;
  }
  return false;
}

SplitPart::SplitPart(const CodeBody& body, const BreakLayout& layout, const std::vector<bool>& bound,
                     const Position& at)
    : body_(body), layout_(layout), bound_(bound), at_(at) {
  out_.consts = body.consts;
  out_.names = body.names;
  out_.flags = CO_OPTIMIZED | CO_NEWLOCALS | (body.flags & (CO_NESTED | kFutureFlags));
  out_.firstlineno = body.firstlineno;
  out_.filename = body.filename;
  out_.name = body.name;
  out_.qualname = body.qualname;
}

void SplitPart::lay_out_slots(const std::vector<bool>& used, int scratch) {
  new_slot_.assign(body_.slot_names.size(), -1);
  stack_slot_.assign(std::max<std::size_t>(layout_.stack_is_null.size(), scratch), -1);
  if (reads_first_argument(body_)) first_parameter();
  stack_parameters();
  moved_cells_ = slot_parameters();
  out_.argcount = static_cast<int>(parameters_.size());
  for (int& slot : stack_slot_) {
    if (slot < 0 && scratch > 0) slot = add_slot(text("___scratch"), kSlotLocal);
  }
  add_unbound(used, false);
  add_unbound(used, true);
  for (const std::uint8_t kind : {kSlotCell, kSlotFree}) {
    for (const int k : moved_cells_) {
      if (body_.slot_kinds[k] & kind) new_slot_[k] = add_slot(body_.slot_names[k], kind);
    }
  }
}

void SplitPart::stack_parameters() {
  int number = 0;
  for (std::size_t i = 0; i < layout_.stack_is_null.size(); ++i) {
    if (layout_.stack_is_null[i]) continue;
    stack_slot_[i] = add_slot(text(fmt::format("{}{}", kStackParameter, number++)), kSlotLocal);
    parameters_.push_back({Kind::StackItem, static_cast<int>(i)});
  }
}

// Returns the slots whose cells are passed.
std::vector<int> SplitPart::slot_parameters() {
  std::vector<int> cells;
  for (int k = 0; k < static_cast<int>(bound_.size()); ++k) {
    if (!bound_[k] || new_slot_[k] >= 0) continue;
    if (body_.slot_kinds[k] & kHoldsCell) {
      cells.push_back(k);
      cell_parameters_.push_back(add_slot(text(kCellParameter + utf8(body_.slot_names[k])), kSlotLocal));
    } else {
      new_slot_[k] = add_slot(body_.slot_names[k], kSlotLocal);
    }
    parameters_.push_back({Kind::Slot, k});
  }
  return cells;
}

void SplitPart::prologue(bool keep_classes, const HandlerOf& handler_of) {
  for (std::size_t k = 0; k < moved_cells_.size(); ++k) {
    // For locals() a slot holds a cell of the frame's own only once there was this instruction.
    if (body_.slot_kinds[moved_cells_[k]] & kSlotCell) emit(Opcode::MAKE_CELL, new_slot_[moved_cells_[k]]);
    emit(Opcode::LOAD_FAST_AND_CLEAR, cell_parameters_[k]);
    emit(Opcode::STORE_FAST, new_slot_[moved_cells_[k]]);
  }
  if (drop_first_) emit(Opcode::DELETE_FAST, 0);
  emit(Opcode::RESUME, kAfterYieldFrom);  // nor would they run between these instructions of the plain function
  int entered = 0;
  for (int i = 0; i < static_cast<int>(layout_.stack_is_null.size()); ++i) {
    if (layout_.stack_is_null[i]) {
      emit(Opcode::PUSH_NULL);
    } else if (const OpenContext* c = context_at(i)) {
      emit(keep_classes ? Opcode::LOAD_FAST : Opcode::LOAD_FAST_AND_CLEAR, stack_slot_[i]);
      enter(*c);
      handler_ = handler_of(entered++, i);
      emit(Opcode::POP_TOP);
      emit(Opcode::NOP);
    } else {
      emit(Opcode::LOAD_FAST_AND_CLEAR, stack_slot_[i]);
    }
  }
}

Instruction& SplitPart::emit(Opcode op, int a, int b) {
  Instruction& i = out_.instructions.emplace_back();
  i.op = op;
  i.a = a;
  i.b = b;
  i.pos = at_;
  i.handler = handler_;
  return i;
}

void SplitPart::leave_context() {
  for (int k = 0; k < 3; ++k) emit(Opcode::LOAD_CONST, constant(Py_None));
  emit(Opcode::CALL, 2);
  emit(Opcode::POP_TOP);
}

int SplitPart::add_slot(PyRef name, std::uint8_t kind) {
  out_.slot_names.push_back(std::move(name));
  out_.slot_kinds.push_back(kind);
  return static_cast<int>(out_.slot_names.size()) - 1;
}

void SplitPart::first_parameter() {
  if (!bound_[0]) {
    drop_first_ = true;
    parameters_.push_back({Kind::Nothing});
    add_slot(text("___nothing"), kSlotLocal);
  } else if (body_.slot_kinds[0] & kHoldsCell) {
    parameters_.push_back({Kind::FirstArgument});
    add_slot(text("___self"), kSlotLocal);
  } else {
    parameters_.push_back({Kind::Slot, 0});
    new_slot_[0] = add_slot(body_.slot_names[0], kSlotLocal);
  }
}

// Slots without a value that the code may still set; a comprehension's own cells among them.
void SplitPart::add_unbound(const std::vector<bool>& used, bool cells) {
  for (std::size_t k = 0; k < used.size(); ++k) {
    const bool is_cell = body_.slot_kinds[k] & kHoldsCell;
    if (bound_[k] || !used[k] || is_cell != cells) continue;
    PyRef name = body_.slot_names[k];
    while (has_slot_name(name)) name = text(utf8(name) + " ");
    new_slot_[k] = add_slot(std::move(name), cells ? kSlotCell : kSlotLocal);
  }
}

bool SplitPart::has_slot_name(const PyRef& name) const {
  return std::any_of(out_.slot_names.begin(), out_.slot_names.end(),
                     [&](const PyRef& s) { return PyUnicode_Compare(s.get(), name.get()) == 0; });
}

const OpenContext* SplitPart::context_at(int item) const {
  for (const OpenContext& c : layout_.contexts) {
    if (c.stack_index == item) return &c;
  }
  return nullptr;
}

// The class is on the stack; its exit function and what __enter__ returned take its place.
void SplitPart::enter(const OpenContext& context) {
  emit(Opcode::PUSH_NULL);
  if (kMinor < 13) emit(Opcode::SWAP, 2);  // below the callable there, above it on 3.13
  for (const PyRef& arg : context.args) emit(Opcode::LOAD_CONST, constant(arg.get()));
  emit(Opcode::CALL, static_cast<int>(context.args.size()));
  emit(Opcode::NOP);
  emit(Opcode::BEFORE_WITH);
}

}  // namespace md
