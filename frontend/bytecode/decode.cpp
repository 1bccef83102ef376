// Real instructions to canonical ones, one block per opcode whose meaning differs between the versions.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/bytecode/instruction.h"
#include "frontend/bytecode/raw_code.h"
#include "frontend/bytecode/split.h"

namespace md {
namespace {

constexpr bool kMethodNullAbove = kMinor >= 13;  // PUSH_NULL goes above the callable, not below

bool ends_block(RawOp op) {
  return op == RawOp::RETURN_VALUE || op == RawOp::RETURN_CONST || op == RawOp::RERAISE || op == RawOp::RAISE_VARARGS ||
         op == RawOp::JUMP_FORWARD || op == RawOp::JUMP_BACKWARD || op == RawOp::JUMP_BACKWARD_NO_INTERRUPT;
}

class Decoder {
 public:
  explicit Decoder(PyCodeObject* code) : code_(code), body_(std::make_unique<CodeBody>()) {}

  std::unique_ptr<CodeBody> run() {
    copy_metadata();
    raws_ = read_code(code_);
    const int units = raws_.empty() ? 0 : raws_.back().end;
    first_of_unit_.assign(units + 1, -1);
    find_jump_targets(units);
    body_->instructions.reserve(raws_.size() + raws_.size() / 4);
    for (index_ = 0; index_ < raws_.size(); ++index_) {
      raw_ = &raws_[index_];
      start_ = static_cast<int>(body_->instructions.size());
      decode_next();
    }
    if (!waiting_.empty()) throw BadCode("keyword names without a call");
    resolve();
    print_resume_prologue();
    return std::move(body_);
  }

 private:
  void copy_metadata() {
    CodeBody& b = *body_;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code_->co_consts); ++i) {
      b.consts.push_back(PyRef::borrow(PyTuple_GET_ITEM(code_->co_consts, i)));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code_->co_names); ++i) {
      b.names.push_back(PyRef::borrow(PyTuple_GET_ITEM(code_->co_names, i)));
    }
    const char* kinds = PyBytes_AS_STRING(code_->co_localspluskinds);
    for (int i = 0; i < code_->co_nlocalsplus; ++i) {
      b.slot_names.push_back(PyRef::borrow(PyTuple_GET_ITEM(code_->co_localsplusnames, i)));
      b.slot_kinds.push_back(static_cast<std::uint8_t>(kinds[i]));
    }
    b.argcount = code_->co_argcount;
    b.posonlyargcount = code_->co_posonlyargcount;
    b.kwonlyargcount = code_->co_kwonlyargcount;
    b.flags = code_->co_flags;
    b.firstlineno = code_->co_firstlineno;
    b.filename = PyRef::borrow(code_->co_filename);
    b.name = PyRef::borrow(code_->co_name);
    b.qualname = PyRef::borrow(code_->co_qualname);
  }

  enum TargetBits : std::uint8_t { kSend = 1, kForIter = 2, kOther = 4 };
  void find_jump_targets(int units) {
    targets_.assign(units + 1, 0);
    for (const RawInstruction& r : raws_) {
      const int to = r.jump_to();
      if (to == -1 && raw_info(r.op).arg != RawArg::Backward) continue;
      if (to < 0 || to >= units) throw BadCode(fmt::format("jump at {} leaves the code", 2 * r.start));
      targets_[to] |= r.op == RawOp::SEND ? kSend : r.op == RawOp::FOR_ITER ? kForIter : kOther;
    }
  }

  void decode_next();
  void step_own();
  bool step_operator();
  bool step_call();
  bool step_jump();
  bool step_load();

  // Appends a canonical instruction for the current real one; the first prints its name.
  Instruction& emit(Opcode op, int a = 0, int b = 0) {
    const bool first = static_cast<int>(body_->instructions.size()) == start_;
    Instruction& i = body_->instructions.emplace_back();
    i.op = op;
    i.a = a;
    i.b = b;
    i.pos = raw_->pos;
    i.handler = raw_->handler;
    i.offset = 2 * raw_->start;
    if (first) {
      i.orig_name = raw_info(raw_->op).name;
      i.orig_arg = printed_operand(code_, *raw_);
    }
    return i;
  }
  // A part of a superinstruction: prints as the simple instruction it stands for.
  void emit_part(const char* name, PrintedOperand arg, Opcode op, int a = 0, int b = 0) {
    Instruction& i = emit(op, a, b);
    i.orig_name = name;
    i.orig_arg = arg;
  }
  void emit_jump(Opcode op, int a = 0, int b = 0) { emit(op, a, b).target = raw_->jump_to(); }

  int slot(int arg) const {
    if (arg >= code_->co_nlocalsplus) throw BadCode("no such local");
    return arg;
  }
  int name(int arg) const {
    if (arg >= PyTuple_GET_SIZE(code_->co_names)) throw BadCode("no such name");
    return arg;
  }
  int constant(int arg) const {
    if (arg >= PyTuple_GET_SIZE(code_->co_consts)) throw BadCode("no such constant");
    return arg;
  }
  PyRef keyword_names(int k) const {
    PyObject* names = PyTuple_GET_ITEM(code_->co_consts, constant(k));
    if (!PyTuple_CheckExact(names)) throw BadCode("keyword names are not a tuple");
    return PyRef::borrow(names);
  }
  DroppedInstruction dropped() const {
    return {2 * raw_->start, raw_info(raw_->op).name, printed_operand(code_, *raw_), raw_->pos};
  }
  bool is_cell_slot(int s) const { return (body_->slot_kinds[slot(s)] & (kSlotCell | kSlotFree)) != 0; }
  void load_fast(int s, bool check, int half);
  void end_for();
  void print_resume_prologue();
  void end_send_311();
  void resolve();
  int canonical_of(int unit) const {
    const int i = first_of_unit_[unit];
    if (i < 0) throw BadCode("jump into the middle of an instruction");
    return i;
  }

  PyCodeObject* code_;
  std::unique_ptr<CodeBody> body_;
  std::vector<RawInstruction> raws_;
  std::vector<int> first_of_unit_;           // code unit → canonical index
  std::vector<std::uint8_t> targets_;        // TargetBits by code unit
  std::vector<DroppedInstruction> waiting_;  // KW_NAMES, PRECALL of the CALL to come
  PyRef kwnames_;
  std::vector<int> waiting_units_;
  std::size_t index_ = 0;
  const RawInstruction* raw_ = nullptr;
  int start_ = 0;
};

// A jump to an instruction without a canonical one goes to what follows: that is where the next emit lands.
void Decoder::decode_next() {
  if (kMinor == 11 && (targets_[raw_->start] & kSend)) end_send_311();
  first_of_unit_[raw_->start] = start_;
  const RawInfo& info = raw_info(raw_->op);
  const bool call_part = raw_->op == RawOp::CALL || raw_->op == RawOp::PRECALL;
  if (!waiting_.empty() && !call_part) throw BadCode("keyword names without a call");
  if (info.canonical < 0) return step_own();
  switch (info.arg) {
    case RawArg::Slot:
      slot(raw_->arg);
      break;
    case RawArg::Name:
      name(raw_->arg);
      break;
    case RawArg::Const:
      constant(raw_->arg);
      break;
    default:
      break;
  }
  emit(static_cast<Opcode>(info.canonical), info.arg == RawArg::None ? 0 : raw_->arg);
}

// On 3.11 a finished SEND drops the receiver itself; canonically END_SEND does. Nothing else reaches that point.
void Decoder::end_send_311() {
  if (targets_[raw_->start] != kSend || index_ == 0 || !ends_block(raws_[index_ - 1].op)) {
    throw BadCode("the exit of SEND is reached otherwise");
  }
  Instruction& i = emit(Opcode::END_SEND);
  i.offset = -1;
  i.orig_name = "";
  i.orig_arg = {};
  start_ = static_cast<int>(body_->instructions.size());
  // SEND goes to END_SEND: the caller overwrites this entry, resolve() steps back.
}

void Decoder::step_own() {
  if (step_load() || step_operator() || step_call() || step_jump()) return;
  throw BadCode(fmt::format("{} at {} does not stand where it must", raw_info(raw_->op).name, 2 * raw_->start));
}

// 3.13 has no LOAD_CLOSURE: a LOAD_FAST of a slot that holds a cell.
void Decoder::load_fast(int s, bool check, int half) {
  const bool closure = kMinor >= 13 && !check && is_cell_slot(s);
  const Opcode op = closure ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST;
  emit_part(check && kMinor > 11 ? "LOAD_FAST_CHECK" : "LOAD_FAST", printed_operand(code_, *raw_, half), op, slot(s),
            !closure && (check || kMinor == 11));
}

bool Decoder::step_load() {
  const int arg = raw_->arg;
  switch (raw_->op) {
    case RawOp::LOAD_FAST:
      load_fast(arg, false, 0);
      return true;
    case RawOp::LOAD_FAST_CHECK:
      load_fast(arg, true, 0);
      return true;
    case RawOp::LOAD_FAST_LOAD_FAST:
      load_fast(arg >> 4, false, 0);
      load_fast(arg & 15, false, 1);
      return true;
    case RawOp::STORE_FAST_LOAD_FAST:
      emit_part("STORE_FAST", printed_operand(code_, *raw_, 0), Opcode::STORE_FAST, slot(arg >> 4));
      load_fast(arg & 15, false, 1);
      return true;
    case RawOp::STORE_FAST_STORE_FAST:
      emit_part("STORE_FAST", printed_operand(code_, *raw_, 0), Opcode::STORE_FAST, slot(arg >> 4));
      emit_part("STORE_FAST", printed_operand(code_, *raw_, 1), Opcode::STORE_FAST, slot(arg & 15));
      return true;
    case RawOp::LOAD_GLOBAL:
      if ((arg & 1) && !kMethodNullAbove) emit(Opcode::PUSH_NULL);
      emit(Opcode::LOAD_GLOBAL, name(arg >> 1));
      if ((arg & 1) && kMethodNullAbove) emit(Opcode::PUSH_NULL);
      return true;
    case RawOp::LOAD_ATTR:
      if (kMinor == 11) {
        emit(Opcode::LOAD_ATTR, name(arg));
      } else {
        emit(Opcode::LOAD_ATTR, name(arg >> 1), arg & 1);
      }
      return true;
    case RawOp::LOAD_METHOD:
      emit(Opcode::LOAD_ATTR, name(arg), 1);
      return true;
    case RawOp::LOAD_SUPER_ATTR:
      emit(Opcode::LOAD_SUPER_ATTR, name(arg >> 2), arg & 3);
      return true;
    case RawOp::RETURN_CONST:
      emit(Opcode::LOAD_CONST, constant(arg));
      emit(Opcode::RETURN_VALUE);
      return true;
    case RawOp::LOAD_CLASSDEREF:
      emit(Opcode::LOAD_LOCALS);
      emit(Opcode::LOAD_FROM_DICT_OR_DEREF, slot(arg));
      return true;
    default:
      return false;
  }
}

bool Decoder::step_operator() {
  const int arg = raw_->arg;
  switch (raw_->op) {
    case RawOp::UNARY_POSITIVE:
      emit(Opcode::UNARY_OP, kUnaryPositive);
      return true;
    case RawOp::UNARY_NEGATIVE:
      emit(Opcode::UNARY_OP, kUnaryNegative);
      return true;
    case RawOp::UNARY_INVERT:
      emit(Opcode::UNARY_OP, kUnaryInvert);
      return true;
    case RawOp::UNARY_NOT:
      emit(Opcode::UNARY_OP, kUnaryNot);
      return true;
    case RawOp::COMPARE_OP:
      emit(Opcode::COMPARE_OP, kMinor == 11 ? arg : kMinor == 12 ? arg >> 4 : arg >> 5, kMinor >= 13 && (arg & 16));
      return true;
    case RawOp::BINARY_SLICE:
    case RawOp::STORE_SLICE: {
      const bool load = raw_->op == RawOp::BINARY_SLICE;
      emit_part("BUILD_SLICE", {PrintedOperand::Kind::Number, 2}, Opcode::BUILD_SLICE, 2);
      const Opcode op = load ? Opcode::BINARY_SUBSCR : Opcode::STORE_SUBSCR;
      emit_part(load ? "BINARY_SUBSCR" : "STORE_SUBSCR", {PrintedOperand::Kind::None}, op);
      return true;
    }
    case RawOp::UNPACK_EX:
      emit(Opcode::UNPACK_EX, arg & 255, arg >> 8);
      return true;
    case RawOp::FORMAT_VALUE:
      // With a spec 3.11 and 3.12 evaluate the spec before converting: one instruction keeps that order.
      if ((arg & 3) && !(arg & 4)) emit(Opcode::CONVERT_VALUE, arg & 3);
      emit(Opcode::FORMAT_VALUE, arg & 4 ? arg & 3 : 0, arg & 4 ? 1 : 0);
      return true;
    case RawOp::FORMAT_SIMPLE:
      emit(Opcode::FORMAT_VALUE);
      return true;
    case RawOp::FORMAT_WITH_SPEC:
      emit(Opcode::FORMAT_VALUE, 0, 1);
      return true;
    case RawOp::CALL_INTRINSIC_1:
      if (arg == kIntrinsicUnaryPositive) {
        emit(Opcode::UNARY_OP, kUnaryPositive);
      } else {
        emit(Opcode::INTRINSIC_1, arg);
      }
      return true;
    case RawOp::CALL_INTRINSIC_2:
      emit(Opcode::INTRINSIC_2, arg);
      return true;
    case RawOp::LIST_TO_TUPLE:
      emit(Opcode::INTRINSIC_1, kIntrinsicListToTuple);
      return true;
    case RawOp::ASYNC_GEN_WRAP:
      emit(Opcode::INTRINSIC_1, kIntrinsicAsyncGenWrap);
      return true;
    case RawOp::IMPORT_STAR:
    case RawOp::PRINT_EXPR:
      emit(Opcode::INTRINSIC_1, raw_->op == RawOp::PRINT_EXPR ? kIntrinsicPrint : kIntrinsicImportStar);
      emit(Opcode::POP_TOP);
      return true;
    case RawOp::PREP_RERAISE_STAR:
      emit(Opcode::INTRINSIC_2, kIntrinsicPrepReraiseStar);
      return true;
    default:
      return false;
  }
}

bool Decoder::step_call() {
  const int arg = raw_->arg;
  switch (raw_->op) {
    case RawOp::KW_NAMES:
      kwnames_ = keyword_names(arg);
      [[fallthrough]];
    case RawOp::PRECALL:
      waiting_.push_back(dropped());
      return true;
    case RawOp::CALL: {
      Instruction& i = emit(Opcode::CALL, arg);
      i.kwnames = std::move(kwnames_);
      i.dropped = std::move(waiting_);
      waiting_.clear();
      kwnames_ = {};
      return true;
    }
    case RawOp::CALL_KW: {
      if (index_ == 0 || raws_[index_ - 1].op != RawOp::LOAD_CONST || targets_[raw_->start] != 0) return false;
      const RawInstruction* call = raw_;
      raw_ = &raws_[index_ - 1];
      DroppedInstruction names = dropped();
      raw_ = call;
      body_->instructions.pop_back();
      --start_;
      first_of_unit_[raw_->start] = start_;
      Instruction& i = emit(Opcode::CALL, arg);
      i.kwnames = keyword_names(raws_[index_ - 1].arg);
      i.dropped.push_back(std::move(names));
      return true;
    }
    case RawOp::MAKE_FUNCTION:
      emit(Opcode::MAKE_FUNCTION);
      for (int flag = 8; flag > 0 && kMinor < 13; flag >>= 1) {
        if (arg & flag) emit(Opcode::SET_FUNCTION_ATTRIBUTE, flag);
      }
      return true;
    default:
      return false;
  }
}

bool Decoder::step_jump() {
  switch (raw_->op) {
    case RawOp::JUMP_FORWARD:
    case RawOp::JUMP_BACKWARD:
      emit_jump(Opcode::JUMP);
      return true;
    case RawOp::JUMP_BACKWARD_NO_INTERRUPT:
      emit_jump(Opcode::JUMP, 0, 1);
      return true;
    case RawOp::POP_JUMP_IF_FALSE:
    case RawOp::POP_JUMP_FORWARD_IF_FALSE:
    case RawOp::POP_JUMP_BACKWARD_IF_FALSE:
      emit_jump(Opcode::POP_JUMP_IF, kJumpFalse);
      return true;
    case RawOp::POP_JUMP_IF_TRUE:
    case RawOp::POP_JUMP_FORWARD_IF_TRUE:
    case RawOp::POP_JUMP_BACKWARD_IF_TRUE:
      emit_jump(Opcode::POP_JUMP_IF, kJumpTrue);
      return true;
    case RawOp::POP_JUMP_IF_NONE:
    case RawOp::POP_JUMP_FORWARD_IF_NONE:
    case RawOp::POP_JUMP_BACKWARD_IF_NONE:
      emit_jump(Opcode::POP_JUMP_IF, kJumpNone);
      return true;
    case RawOp::POP_JUMP_IF_NOT_NONE:
    case RawOp::POP_JUMP_FORWARD_IF_NOT_NONE:
    case RawOp::POP_JUMP_BACKWARD_IF_NOT_NONE:
      emit_jump(Opcode::POP_JUMP_IF, kJumpNotNone);
      return true;
    case RawOp::JUMP_IF_FALSE_OR_POP:
    case RawOp::JUMP_IF_TRUE_OR_POP:
      emit(Opcode::COPY, 1);
      emit_jump(Opcode::POP_JUMP_IF, raw_->op == RawOp::JUMP_IF_TRUE_OR_POP ? kJumpTrue : kJumpFalse);
      emit(Opcode::POP_TOP);
      return true;
    case RawOp::FOR_ITER:
      emit_jump(Opcode::FOR_ITER);
      return true;
    case RawOp::SEND:
      emit_jump(Opcode::SEND);
      return true;
    case RawOp::END_FOR:
      end_for();
      return true;
    default:
      return false;
  }
}

// END_FOR (3.13: and the POP_TOP after it) is skipped by an exhausted FOR_ITER, and nothing else gets there.
void Decoder::end_for() {
  if (targets_[raw_->start] != kForIter || index_ == 0 || !ends_block(raws_[index_ - 1].op)) {
    throw BadCode("END_FOR is reached otherwise than from FOR_ITER");
  }
  std::vector<DroppedInstruction> lines{dropped()};
  const int end_for_unit = raw_->start;
  if (kMinor >= 13) {
    if (index_ + 1 >= raws_.size() || raws_[index_ + 1].op != RawOp::POP_TOP) throw BadCode("END_FOR without POP_TOP");
    raw_ = &raws_[++index_];
    if (targets_[raw_->start] != 0) throw BadCode("jump between END_FOR and POP_TOP");
    lines.push_back(dropped());
    first_of_unit_[raw_->start] = start_;
  }
  for (Instruction& i : body_->instructions) {
    if (i.op == Opcode::FOR_ITER && i.target == end_for_unit) i.dropped = lines;
  }
}

void Decoder::resolve() {
  const int size = static_cast<int>(body_->instructions.size());
  for (Instruction& i : body_->instructions) {
    if (i.target >= 0) i.target = canonical_of(i.target) - (kMinor == 11 && i.op == Opcode::SEND ? 1 : 0);
    if (i.handler.label >= 0) i.handler.label = canonical_of(i.handler.label);
    if (i.target >= size || i.handler.label >= size) throw BadCode("jump to the end of the code");
  }
}

// Resume code (split.h) takes cells as arguments and clears its stack parameters; logs show what the reference has
// there: one COPY_FREE_VARS, and plain loads.
void Decoder::print_resume_prologue() {
  const auto starts = [&](int slot, const char* prefix) {
    const PyRef want = checked(PyUnicode_FromString(prefix));
    return PyUnicode_Tailmatch(body_->slot_names[slot].get(), want.get(), 0, PY_SSIZE_T_MAX, -1) > 0;
  };
  int cells = 0;
  for (int k = 0; k < body_->argcount; ++k) cells += starts(k, kCellParameter);
  bool copied = false;
  for (Instruction& i : body_->instructions) {
    const bool loads = i.op == Opcode::LOAD_FAST || i.op == Opcode::LOAD_FAST_AND_CLEAR;
    const bool moves = loads || i.op == Opcode::DELETE_FAST;
    if (i.op == Opcode::JUMP) return;
    if (moves && starts(i.a, kCellParameter)) {
      i.orig_name = copied ? "" : "COPY_FREE_VARS";
      i.orig_arg = copied ? PrintedOperand{} : PrintedOperand{PrintedOperand::Kind::Number, cells};
      copied = true;
    } else if (moves && starts(i.a, kStackParameter)) {
      i.orig_name = loads ? "LOAD_FAST" : "";
    } else if (cells > 0 && (i.op == Opcode::MAKE_CELL || (i.op == Opcode::STORE_FAST && is_cell_slot(i.a)))) {
      i.orig_name = "";
    }
  }
}

}  // namespace

std::unique_ptr<CodeBody> decode(PyCodeObject* code) {
  try {
    return Decoder(code).run();
  } catch (const BadCode& e) {
    PyErr_Format(PyExc_SystemError, "cannot decode %U: %s", code->co_qualname, e.what());
    throw PythonError{};
  }
}

}  // namespace md
