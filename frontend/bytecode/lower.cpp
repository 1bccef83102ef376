// One canonical instruction to one or more raw ones of the running version, in a single pass over the body.
#include "frontend/bytecode/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/bytecode/effects.h"
#include "ir/core/error.h"

namespace md {
namespace {

// Masks that 3.12 and 3.13 store beside the comparison: unordered 1, less 2, greater 4, equal 8.
constexpr int kCompareMask[] = {2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8};

bool raw_ends_block(RawOp op) {
  return op == RawOp::RETURN_VALUE || op == RawOp::RETURN_CONST || op == RawOp::RERAISE || op == RawOp::RAISE_VARARGS ||
         op == RawOp::JUMP_FORWARD || op == RawOp::JUMP_BACKWARD || op == RawOp::JUMP_BACKWARD_NO_INTERRUPT;
}

// Canonical instructions that are one raw opcode with the same operand.
RawOp same_raw(Opcode op) {
  static const auto table = [] {
    std::array<RawOp, kOpcodeCount> t{};
    for (int k = 1; k < raw_op_count(); ++k) {
      const RawInfo& info = raw_info(static_cast<RawOp>(k));
      if (info.canonical >= 0 && info.number != 0) t[info.canonical] = static_cast<RawOp>(k);
    }
    return t;
  }();
  return table[static_cast<int>(op)];
}

RawOp jump_if(int kind, bool forward) {
  static constexpr RawOp kForward311[] = {RawOp::POP_JUMP_FORWARD_IF_FALSE, RawOp::POP_JUMP_FORWARD_IF_TRUE,
                                          RawOp::POP_JUMP_FORWARD_IF_NONE, RawOp::POP_JUMP_FORWARD_IF_NOT_NONE};
  static constexpr RawOp kBackward311[] = {RawOp::POP_JUMP_BACKWARD_IF_FALSE, RawOp::POP_JUMP_BACKWARD_IF_TRUE,
                                           RawOp::POP_JUMP_BACKWARD_IF_NONE, RawOp::POP_JUMP_BACKWARD_IF_NOT_NONE};
  static constexpr RawOp kLater[] = {RawOp::POP_JUMP_IF_FALSE, RawOp::POP_JUMP_IF_TRUE, RawOp::POP_JUMP_IF_NONE,
                                     RawOp::POP_JUMP_IF_NOT_NONE};
  return kMinor > 11 ? kLater[kind] : forward ? kForward311[kind] : kBackward311[kind];
}
int inverted(int kind) { return kind ^ 1; }  // the four kinds come in pairs

// Where in the canonical code the lowering is, and the instructions it has put out.
class LoweringCursor {
 protected:
  LoweringCursor(const CodeBody& body, const std::vector<FlowState>& flow) : body_(body), flow_(flow) {
    out_.consts = body_.consts;
    out_.first.assign(size(), -1);
    out_.exit_first.assign(size(), -1);
    find_labels();
  }

  // Goes to the next instruction; false: there is none.
  bool advance() {
    at_ += used_;
    if (at_ >= size()) return false;
    i_ = &body_.instructions[at_];
    used_ = 1;
    return true;
  }

  int size() const { return static_cast<int>(body_.instructions.size()); }
  const Instruction* next(int k = 1) const { return at_ + k < size() ? &body_.instructions[at_ + k] : nullptr; }
  [[noreturn]] void cannot(const char* why) const {
    throw InternalError(fmt::format("cannot lower {} at {}: {}", opcode_name(i_->op), at_, why));
  }

  void find_labels() {
    is_label_.assign(size(), false);
    exit_of_.assign(size(), nullptr);
    for (const Instruction& i : body_.instructions) {
      if (i.handler.label >= 0) is_label_[i.handler.label] = true;
      if (i.target < 0) continue;
      is_label_[i.target] = true;
      if (i.op == Opcode::FOR_ITER && kMinor > 11 && !exit_of_[i.target]) exit_of_[i.target] = &i;
    }
  }

  // The k-th following instruction can become one with those before it: nothing jumps to it and exceptions go the same
  // way. Real instructions that the compiler left apart stay apart.
  bool fits(int k) const {
    if (at_ + k >= size() || is_label_[at_ + k]) return false;
    const Instruction &a = *next(k - 1), &b = *next(k);
    return a.handler == b.handler;
  }
  bool joinable(int k = 1) const {
    if (!fits(k)) return false;
    const Instruction &a = *next(k - 1), &b = *next(k);
    return a.offset < 0 || b.offset < 0 || a.offset == b.offset;
  }
  bool same_line(const Instruction& y) const {
    return i_->pos.line < 0 || y.pos.line < 0 || i_->pos.line == y.pos.line;
  }

  LoweredInstruction& emit(RawOp op, int arg = 0) {
    if (raw_info(op).number == 0) cannot("the running version has no such instruction");
    LoweredInstruction& r = out_.instructions.emplace_back();
    r.op = op;
    r.arg = arg;
    r.pos = i_->pos;
    r.handler = i_->handler;
    return r;
  }

  // END_FOR stands right before the exit of a loop; nothing may fall into it.
  void end_loop() {
    const Instruction* loop = exit_of_[at_];
    if (!loop) return;
    if (!out_.instructions.empty() && !raw_ends_block(out_.instructions.back().op)) {
      LoweredInstruction jump = out_.instructions.back();
      jump.op = RawOp::JUMP_FORWARD;
      jump.label = at_;
      jump.to_exit = false;
      out_.instructions.push_back(jump);
    }
    out_.exit_first[at_] = static_cast<int>(out_.instructions.size());
    const int count = kMinor >= 13 ? 2 : 1;
    for (int k = 0; k < count; ++k) {
      LoweredInstruction& r = emit(k == 0 ? RawOp::END_FOR : RawOp::POP_TOP);
      r.handler = loop->handler;
      if (static_cast<int>(loop->dropped.size()) == count) r.pos = loop->dropped[k].pos;
    }
  }

  // 3.13 looks up the handler of a raising Python callee one unit before the call: keep regions from starting or ending
  // exactly there.
  void separate_region() {
    if (!inlines_call(i_->op) || out_.instructions.empty()) return;
    if (out_.instructions.back().handler == i_->handler) return;
    emit(RawOp::NOP);
  }

  LoweredInstruction& emit_jump(RawOp op, int label) {
    LoweredInstruction& r = emit(op);
    r.label = label;
    return r;
  }

  int const_index(const PyRef& object) {
    auto& consts = out_.consts;
    const auto same = [&](const PyRef& c) { return c.get() == object.get(); };
    const auto found = std::find_if(consts.begin(), consts.end(), same);
    if (found == consts.end()) {
      consts.push_back(object);
      return static_cast<int>(consts.size()) - 1;
    }
    return static_cast<int>(found - consts.begin());
  }

  const CodeBody& body_;
  const std::vector<FlowState>& flow_;
  LoweredCode out_;
  std::vector<bool> is_label_;
  std::vector<const Instruction*> exit_of_;  // a FOR_ITER that leaves to this instruction
  int at_ = 0, used_ = 0;                    // the instruction, and how many the ones put out for it stand for
  const Instruction* i_ = nullptr;
};

class Lowering : LoweringCursor {
 public:
  Lowering(const CodeBody& body, const std::vector<FlowState>& flow) : LoweringCursor(body, flow) {}

  LoweredCode run() {
    while (advance()) {
      end_loop();
      separate_region();
      const int first = static_cast<int>(out_.instructions.size());
      one();
      for (int k = 0; k < used_; ++k) out_.first[at_ + k] = first;
    }
    return std::move(out_);
  }

 private:
  void one() {
    if (local() || name() || operation() || construct() || call() || control()) return;
    const RawOp raw = same_raw(i_->op);
    if (raw == RawOp::Unknown) cannot("the running version has no such instruction");
    emit(raw, i_->a);
  }

  bool needs_check(const Instruction& y) const {
    if (y.op != Opcode::LOAD_FAST || kMinor == 11) return false;
    const FlowState& s = flow_[&y - body_.instructions.data()];
    return y.b != 0 || (s.reached && s.slots[y.a] != SlotState::Bound);
  }
  // A plain load of a slot that superinstructions can name.
  bool pairs_as_load(const Instruction& y) const {
    return (y.op == Opcode::LOAD_FAST || y.op == Opcode::LOAD_CLOSURE) && !needs_check(y) && y.a < 16;
  }

  bool local() {
    const Instruction* y = next();
    const bool pair = kMinor >= 13 && i_->a < 16 && joinable() && same_line(*y);
    switch (i_->op) {
      case Opcode::LOAD_FAST:
      case Opcode::LOAD_CLOSURE:
        if (pair && pairs_as_load(*i_) && pairs_as_load(*y)) return two_slots(RawOp::LOAD_FAST_LOAD_FAST, *y);
        if (i_->op == Opcode::LOAD_CLOSURE && kMinor < 13) return false;
        emit(needs_check(*i_) ? RawOp::LOAD_FAST_CHECK : RawOp::LOAD_FAST, i_->a);
        return true;
      case Opcode::STORE_FAST:
        if (pair && pairs_as_load(*y)) return two_slots(RawOp::STORE_FAST_LOAD_FAST, *y);
        if (pair && y->op == Opcode::STORE_FAST && y->a < 16) return two_slots(RawOp::STORE_FAST_STORE_FAST, *y);
        return false;
      case Opcode::LOAD_FAST_AND_CLEAR:
        if (kMinor > 11) return false;
        // No such opcode: for a slot that is surely bound, load and delete.
        if (flow_[at_].reached && flow_[at_].slots[i_->a] != SlotState::Bound) cannot("the slot may be unbound");
        emit(RawOp::LOAD_FAST, i_->a);
        emit(RawOp::DELETE_FAST, i_->a);
        return true;
      default:
        return false;
    }
  }
  bool two_slots(RawOp op, const Instruction& y) {
    emit(op, i_->a << 4 | y.a);
    used_ = 2;
    return true;
  }

  bool name() {
    const Instruction* y = next();
    switch (i_->op) {
      case Opcode::PUSH_NULL:
        if (kMinor >= 13 || !y || y->op != Opcode::LOAD_GLOBAL || !joinable()) return false;
        emit(RawOp::LOAD_GLOBAL, y->a << 1 | 1).pos = y->pos;
        used_ = 2;
        return true;
      case Opcode::LOAD_GLOBAL: {
        const bool with_null = kMinor >= 13 && y && y->op == Opcode::PUSH_NULL && joinable();
        emit(RawOp::LOAD_GLOBAL, i_->a << 1 | (with_null ? 1 : 0));
        used_ = with_null ? 2 : 1;
        return true;
      }
      case Opcode::LOAD_ATTR:
        if (kMinor == 11) {
          emit(i_->b ? RawOp::LOAD_METHOD : RawOp::LOAD_ATTR, i_->a);
        } else {
          emit(RawOp::LOAD_ATTR, i_->a << 1 | i_->b);
        }
        return true;
      case Opcode::LOAD_SUPER_ATTR:
        emit(RawOp::LOAD_SUPER_ATTR, i_->a << 2 | i_->b);
        return true;
      case Opcode::LOAD_LOCALS:
        if (kMinor > 11) return false;
        if (!y || y->op != Opcode::LOAD_FROM_DICT_OR_DEREF || !fits(1)) cannot("it stands alone");
        emit(RawOp::LOAD_CLASSDEREF, y->a);
        used_ = 2;
        return true;
      default:
        return false;
    }
  }

  // 3.13's UNARY_NOT and conditional jumps take exact bools only.
  void to_bool() {
    if (kMinor < 13) return;
    const FlowState& s = flow_[at_];
    if (s.reached && s.stack.back() != Item::Bool) emit(RawOp::TO_BOOL);
  }

  bool operation() {
    const Instruction* y = next();
    switch (i_->op) {
      case Opcode::UNARY_OP:
        unary();
        return true;
      case Opcode::TO_BOOL:
        if (kMinor >= 13) return false;
        cannot("the running version has no such instruction");
      case Opcode::COMPARE_OP: {
        const int mask = kCompareMask[i_->a];
        const int later = kMinor == 12 ? i_->a << 4 | mask : i_->a << 5 | (i_->b ? 16 : 0) | mask;
        emit(RawOp::COMPARE_OP, kMinor == 11 ? i_->a : later);
        return true;
      }
      case Opcode::BUILD_SLICE: {
        const bool load = y && y->op == Opcode::BINARY_SUBSCR, store = y && y->op == Opcode::STORE_SUBSCR;
        if (kMinor == 11 || i_->a != 2 || !(load || store) || !joinable()) return false;
        emit(load ? RawOp::BINARY_SLICE : RawOp::STORE_SLICE);
        used_ = 2;
        return true;
      }
      default:
        return false;
    }
  }
  void unary() {
    switch (i_->a) {
      case kUnaryPositive:
        if (kMinor == 11) {
          emit(RawOp::UNARY_POSITIVE);
        } else {
          emit(RawOp::CALL_INTRINSIC_1, kIntrinsicUnaryPositive);
        }
        return;
      case kUnaryNegative:
        emit(RawOp::UNARY_NEGATIVE);
        return;
      case kUnaryInvert:
        emit(RawOp::UNARY_INVERT);
        return;
      default:
        to_bool();
        emit(RawOp::UNARY_NOT);
    }
  }

  bool construct() {
    const Instruction* y = next();
    switch (i_->op) {
      case Opcode::UNPACK_EX:
        emit(RawOp::UNPACK_EX, i_->a | i_->b << 8);
        return true;
      case Opcode::CONVERT_VALUE:
        if (kMinor >= 13) return false;
        emit(RawOp::FORMAT_VALUE, i_->a);
        if (y && y->op == Opcode::FORMAT_VALUE && y->a == 0 && y->b == 0 && fits(1)) used_ = 2;
        return true;
      case Opcode::FORMAT_VALUE:
        if (kMinor < 13) {
          emit(RawOp::FORMAT_VALUE, i_->a | (i_->b ? 4 : 0));
        } else {
          if (i_->a) cannot("conversion and spec in one instruction");
          emit(i_->b ? RawOp::FORMAT_WITH_SPEC : RawOp::FORMAT_SIMPLE);
        }
        return true;
      case Opcode::MAKE_FUNCTION:
        make_function();
        return true;
      case Opcode::INTRINSIC_1:
        if (kMinor == 11) {
          intrinsic_311();
        } else {
          emit(RawOp::CALL_INTRINSIC_1, i_->a);
        }
        return true;
      case Opcode::INTRINSIC_2:
        if (kMinor == 11 && i_->a != kIntrinsicPrepReraiseStar) cannot("the running version has no such intrinsic");
        if (kMinor == 11) {
          emit(RawOp::PREP_RERAISE_STAR);
        } else {
          emit(RawOp::CALL_INTRINSIC_2, i_->a);
        }
        return true;
      default:
        return false;
    }
  }
  void make_function() {
    int flags = 0;
    for (; kMinor < 13 && fits(used_) && next(used_)->op == Opcode::SET_FUNCTION_ATTRIBUTE; ++used_) {
      const int flag = next(used_)->a;
      if (flags && flag >= (flags & -flags)) cannot("attributes are not in the order closure, annotations, defaults");
      flags |= flag;
    }
    emit(RawOp::MAKE_FUNCTION, flags);
  }
  void intrinsic_311() {
    switch (i_->a) {
      case kIntrinsicListToTuple:
        emit(RawOp::LIST_TO_TUPLE);
        return;
      case kIntrinsicAsyncGenWrap:
        emit(RawOp::ASYNC_GEN_WRAP);
        return;
      case kIntrinsicPrint:
      case kIntrinsicImportStar:
        if (!next() || next()->op != Opcode::POP_TOP || !fits(1)) cannot("its result is used");
        emit(i_->a == kIntrinsicPrint ? RawOp::PRINT_EXPR : RawOp::IMPORT_STAR);
        used_ = 2;
        return;
      default:
        cannot("the running version has no such intrinsic");
    }
  }

  bool call() {
    if (i_->op != Opcode::CALL) return false;
    // Where the compiler put the names: the first of the dropped instructions.
    const Position& names_pos = i_->dropped.empty() ? i_->pos : i_->dropped.front().pos;
    if (!i_->kwnames) {
      if (kMinor == 11) emit(RawOp::PRECALL, i_->a);
      emit(RawOp::CALL, i_->a);
      return true;
    }
    const int names = const_index(i_->kwnames);
    emit(kMinor >= 13 ? RawOp::LOAD_CONST : RawOp::KW_NAMES, names).pos = names_pos;
    if (kMinor == 11) emit(RawOp::PRECALL, i_->a);
    emit(kMinor >= 13 ? RawOp::CALL_KW : RawOp::CALL, i_->a);
    return true;
  }
  bool control() {
    const bool forward = i_->target > at_;
    switch (i_->op) {
      case Opcode::JUMP: {
        const RawOp back = i_->b ? RawOp::JUMP_BACKWARD_NO_INTERRUPT : RawOp::JUMP_BACKWARD;
        emit_jump(forward ? RawOp::JUMP_FORWARD : back, i_->target);
        return true;
      }
      case Opcode::POP_JUMP_IF:
        if (i_->a == kJumpTrue || i_->a == kJumpFalse) to_bool();
        if (forward || kMinor == 11) {
          emit_jump(jump_if(i_->a, forward), i_->target);
        } else {
          emit_jump(jump_if(inverted(i_->a), true), at_ + 1);
          emit_jump(RawOp::JUMP_BACKWARD, i_->target);
        }
        return true;
      case Opcode::COPY:
        return jump_or_pop_311();
      case Opcode::FOR_ITER:
        emit_jump(RawOp::FOR_ITER, i_->target).to_exit = kMinor > 11;
        return true;
      case Opcode::SEND:
        emit_jump(RawOp::SEND, i_->target);
        return true;
      case Opcode::END_SEND:
        // 3.11: SEND's jump has dropped the receiver already, so nothing may come here any other way.
        if (kMinor > 11) return false;
        if (at_ == 0 || !ends_block(body_.instructions[at_ - 1].op)) cannot("it is reached otherwise than from SEND");
        return true;
      case Opcode::LOAD_CONST:
        if (kMinor == 11 || !next() || next()->op != Opcode::RETURN_VALUE || !joinable()) return false;
        emit(RawOp::RETURN_CONST, i_->a);
        used_ = 2;
        return true;
      default:
        return false;
    }
  }
  bool jump_or_pop_311() {
    const Instruction *y = next(), *z = next(2);
    if (kMinor != 11 || i_->a != 1 || !z || y->op != Opcode::POP_JUMP_IF || z->op != Opcode::POP_TOP) return false;
    if (y->a > kJumpTrue || y->target <= at_ || !joinable(1) || !joinable(2)) return false;
    emit_jump(y->a == kJumpTrue ? RawOp::JUMP_IF_TRUE_OR_POP : RawOp::JUMP_IF_FALSE_OR_POP, y->target);
    used_ = 3;
    return true;
  }
};

}  // namespace

LoweredCode lower(const CodeBody& body, const std::vector<FlowState>& flow) { return Lowering(body, flow).run(); }

}  // namespace md
