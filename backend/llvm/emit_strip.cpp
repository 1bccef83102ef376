// The vector loop. Whole vectors are worked on in place; what is left is copied to buffers on the stack, and the same
// loop runs over those once more, so that the body is generated once and needs no masks.
#include "backend/llvm/llvm_builder.h"
#include "backend/llvm/nest_emitter.h"
#include "registry/reduction_order.h"

namespace md {

struct NestEmitter::Phase {
  Value* main = nullptr;              // columns in whole iterations
  Value* rest = nullptr;              // the others
  std::vector<Value*> first, stride;  // per port: of the strip's first column
  std::vector<llvm::PHINode*> pointer, step;
  llvm::PHINode* count = nullptr;     // columns of this phase
  llvm::PHINode* position = nullptr;  // where they start
  llvm::PHINode* last = nullptr;      // i1: on the tail buffers
  std::vector<llvm::PHINode*> masks, carried, result;
  llvm::BasicBlock *head = nullptr, *after = nullptr;
};

void NestEmitter::emit_strip(Strip& strip) {
  Phase p;
  const int step = schedule_.lanes * strip.vectors;
  p.main = ir_.CreateAnd(strip.count, i64(-step));
  p.rest = ir_.CreateSub(strip.count, p.main);
  for (int port_index : strip.ports) {
    const Port& port = ports_[static_cast<std::size_t>(port_index)];
    tail_of(port_index);
    Value* offset = port.col_stride ? ir_.CreateMul(strip.start, port.col_stride) : strip.start;
    p.first.push_back(port.col == StrideKind::Zero ? port.row : element_at(port.access->dtype, port.row, offset));
    p.stride.push_back(port.col == StrideKind::Dynamic ? port.col_stride : nullptr);
  }
  llvm::BasicBlock *check = block("rest"), *in = block("tail_in"), *out = block("tail_out"), *done = block("done");
  p.head = block("phase"), p.after = block("phase_end");
  begin_phase(strip, p);
  if (strip.passes == 1) {
    emit_vector_loop(strip, p);
  } else {
    walk_passes(strip, p.count, [&](VectorStep& step, Value* column) { position_step(strip, p, column, step); });
    ir_.CreateBr(p.after);
  }

  ir_.SetInsertPoint(p.after);
  ir_.CreateCondBr(p.last, out, check);
  ir_.SetInsertPoint(check);
  ir_.CreateCondBr(ir_.CreateICmpSGT(p.rest, i64(0)), in, done);
  ir_.SetInsertPoint(in);
  copy_in(strip, p);
  ir_.SetInsertPoint(out);
  copy_out(strip, p);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
  for (std::size_t i = 0; i < strip.carried.size(); ++i) strip.carried[i] = p.result[i];
}

// Where the columns that fill no whole vector of a port are worked on: one after the other, or where every other
// element is meant, that far apart. Those of a pair lie in one buffer.
NestEmitter::Value* NestEmitter::tail_of(int port_index) {
  Port& port = ports_[static_cast<std::size_t>(port_index)];
  if (port.tail) return port.tail;
  const int store = port_index - static_cast<int>(nest_.accesses.size());
  const bool second = store > 0 && nest_.stores[static_cast<std::size_t>(store)].second_of_pair;
  if (second && port.col == StrideKind::Two) {
    port.tail = ir_.CreateConstGEP1_64(element_of(port.access->dtype), tail_of(port_index - 1), 1);
  } else {
    port.tail = stack(element_of(port.access->dtype), kInnerLanes * (port.col == StrideKind::Two ? 2 : 1));
  }
  return port.tail;
}

// The values that differ between the two phases, as the first of them sees them.
void NestEmitter::begin_phase(Strip& strip, Phase& p) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  ir_.CreateBr(p.head);
  ir_.SetInsertPoint(p.head);
  const auto phi = [&](Value* first) {
    auto* node = ir_.CreatePHI(first->getType(), 2);
    node->addIncoming(first, before);
    return node;
  };
  for (std::size_t i = 0; i < strip.ports.size(); ++i) {
    p.pointer.push_back(phi(p.first[i]));
    p.step.push_back(p.stride[i] ? phi(p.stride[i]) : nullptr);
  }
  p.count = phi(p.main);
  p.position = phi(i64(0));
  p.last = phi(ir_.getFalse());
  llvm::Type* mask = lanes_of(ir_.getInt1Ty(), schedule_.lanes);
  for (int v = 0; strip.masks && v < strip.vectors; ++v) p.masks.push_back(phi(llvm::Constant::getAllOnesValue(mask)));
  for (Value* initial : strip.carried) p.carried.push_back(phi(initial));
  llvm::IRBuilder<> at_end(p.after);
  for (auto* c : p.carried) p.result.push_back(at_end.CreatePHI(c->getType(), 2));
}

void NestEmitter::emit_vector_loop(Strip& strip, Phase& p) {
  llvm::BasicBlock* inside = block("vectors");
  for (std::size_t i = 0; i < p.carried.size(); ++i) p.result[i]->addIncoming(p.carried[i], p.head);
  ir_.CreateCondBr(ir_.CreateICmpSGT(p.count, i64(0)), inside, p.after);
  ir_.SetInsertPoint(inside);
  auto* j = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  j->addIncoming(i64(0), p.head);
  std::vector<Value*> carried;
  std::vector<llvm::PHINode*> nodes;
  for (auto* c : p.carried) {
    nodes.push_back(ir_.CreatePHI(c->getType(), 2));
    nodes.back()->addIncoming(c, p.head);
    carried.push_back(nodes.back());
  }
  for (int v = 0; v < strip.vectors; ++v) {
    Value* column = v == 0 ? j : ir_.CreateAdd(j, i64(v * schedule_.lanes));
    VectorStep step{.vector = v};
    position_step(strip, p, column, step);
    strip.body(step, carried);
  }
  Value* next = ir_.CreateAdd(j, i64(schedule_.lanes * strip.vectors));
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  j->addIncoming(next, latch);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i]->addIncoming(carried[i], latch);
    p.result[i]->addIncoming(carried[i], latch);
  }
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, p.count), inside, p.after);
}

// Where the vector that starts at `column` of this phase lies.
void NestEmitter::position_step(const Strip& strip, const Phase& p, Value* column, VectorStep& step) {
  step.position = ir_.CreateAdd(p.position, column);
  step.mask = strip.masks ? p.masks[static_cast<std::size_t>(step.vector)] : nullptr;
  for (std::size_t i = 0; i < strip.ports.size(); ++i) {
    const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
    Value* const known = port.col == StrideKind::Two ? port.col_stride : nullptr;
    Value* const step_by = known ? known : p.step[i];
    Value* offset = step_by ? ir_.CreateMul(column, step_by) : column;
    const bool fixed = port.col == StrideKind::Zero;
    step.pointers.push_back(fixed ? p.pointer[i] : element_at(port.access->dtype, p.pointer[i], offset));
    step.strides.push_back(step_by);
  }
}

NestEmitter::Value* NestEmitter::tail_mask(Value* rest, int vector) {
  const int lanes = schedule_.lanes;
  if (lanes == 1) return ir_.CreateICmpSGT(rest, i64(vector));
  Value* left =
      ir_.CreateSub(ir_.CreateTrunc(rest, ir_.getInt32Ty()), ir_.getInt32(static_cast<std::uint32_t>(vector * lanes)));
  llvm::SmallVector<llvm::Constant*, 64> lane;
  for (int i = 0; i < lanes; ++i) lane.push_back(ir_.getInt32(static_cast<std::uint32_t>(i)));
  return ir_.CreateICmpSLT(llvm::ConstantVector::get(lane), ir_.CreateVectorSplat(static_cast<unsigned>(lanes), left));
}

// Prepares the second phase and closes its edge to the head of the loop.
void NestEmitter::copy_in(const Strip& strip, Phase& p) {
  copy_tail(strip, p, false);
  std::vector<Value*> masks;
  for (std::size_t v = 0; v < p.masks.size(); ++v) masks.push_back(tail_mask(p.rest, static_cast<int>(v)));
  llvm::BasicBlock* from = ir_.GetInsertBlock();
  for (std::size_t i = 0; i < strip.ports.size(); ++i) {
    const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
    p.pointer[i]->addIncoming(port.col == StrideKind::Zero ? p.first[i] : port.tail, from);
    if (p.step[i]) p.step[i]->addIncoming(i64(1), from);
  }
  p.count->addIncoming(i64(schedule_.lanes * strip.vectors), from);
  p.position->addIncoming(p.main, from);
  p.last->addIncoming(ir_.getTrue(), from);
  for (std::size_t v = 0; v < masks.size(); ++v) p.masks[v]->addIncoming(masks[v], from);
  for (std::size_t i = 0; i < p.carried.size(); ++i) p.carried[i]->addIncoming(p.result[i], from);
  ir_.CreateBr(p.head);
}

void NestEmitter::copy_out(const Strip& strip, Phase& p) { copy_tail(strip, p, true); }

// Moves the last columns between tensors and tail buffers: with masked moves where there are some, else one by one.
void NestEmitter::copy_tail(const Strip& strip, Phase& p, bool stores) {
  std::vector<std::size_t> single;
  for (std::size_t i = 0; i < strip.ports.size(); ++i) {
    const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
    if (port.store != stores || port.col == StrideKind::Zero) continue;
    if (port.col_stride || !target_.masked_moves || schedule_.lanes == 1) {
      single.push_back(i);
      continue;
    }
    llvm::Type* element = element_of(port.access->dtype);
    llvm::Type* type = lanes_of(element, schedule_.lanes);
    Value* there = element_at(port.access->dtype, p.first[i], p.main);
    const llvm::Align align(item_size(port.access->dtype));
    for (int v = 0; v < strip.vectors; ++v) {
      Value* far = ir_.CreateConstGEP1_64(element, there, static_cast<std::uint64_t>(v * schedule_.lanes));
      Value* near = ir_.CreateConstGEP1_64(element, port.tail, static_cast<std::uint64_t>(v * schedule_.lanes));
      Value* mask = tail_mask(p.rest, v);
      if (stores)
        ir_.CreateMaskedStore(ir_.CreateAlignedLoad(type, near, align), far, align, mask);
      else
        ir_.CreateAlignedStore(ir_.CreateMaskedLoad(type, far, align, mask, llvm::Constant::getNullValue(type)), near,
                               align);
    }
  }
  if (single.empty()) return;
  if (!stores) {
    for (std::size_t i : single) {
      const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
      const int apart = port.col == StrideKind::Two ? 2 : 1;
      const int bytes = apart * schedule_.lanes * strip.vectors * static_cast<int>(item_size(port.access->dtype));
      ir_.CreateMemSet(port.tail, ir_.getInt8(0), static_cast<std::uint64_t>(bytes), llvm::MaybeAlign(64));
    }
  }
  loop(i64(0), p.rest, 1, true, [&](Value* k) {
    for (std::size_t i : single) {
      const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
      const DType t = port.access->dtype;
      Value* column = ir_.CreateAdd(p.main, k);
      Value* far = element_at(t, p.first[i], port.col_stride ? ir_.CreateMul(column, port.col_stride) : column);
      Value* near = element_at(t, port.tail, port.col == StrideKind::Two ? ir_.CreateMul(k, port.col_stride) : k);
      ir_.CreateStore(ir_.CreateLoad(element_of(t), stores ? near : far), stores ? far : near);
    }
  });
}

}  // namespace md
