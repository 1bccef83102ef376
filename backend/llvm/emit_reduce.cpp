// Reductions along the columns, in the one order the language defines: element k of a 1,024-element chunk goes to lane
// k mod 64, lanes are combined by halving, chunks form a binary tree by index.
#include <bit>

#include "backend/llvm/llvm_builder.h"
#include "backend/llvm/nest_emitter.h"
#include "registry/reduction_order.h"

namespace md {

namespace {
constexpr int kReduceTreeLevels = 48;
}

void NestEmitter::emit_reduction_stage(const std::vector<int>& reduces, const std::vector<int>& stores,
                                       const std::vector<int>& values) {
  const auto reduce_at = [&](std::size_t i) -> const NestValue& {
    return nest_.values[static_cast<std::size_t>(reduces[i])];
  };
  if (schedule_.one_chunk) {
    fold_strip(reduces, stores, values, col_begin_, ir_.CreateSub(col_end_, col_begin_));
    return;
  }
  const int shift = std::countr_zero(static_cast<std::uint64_t>(schedule_.chunk));
  std::vector<Value*> trees;
  for (std::size_t i = 0; i < reduces.size(); ++i)
    trees.push_back(stack(register_type(ir_.getContext(), reduce_at(i).dtype, 1), kReduceTreeLevels));
  loop(col_begin_, col_end_, schedule_.chunk, true, [&](Value* start) {
    Value* left = ir_.CreateSub(col_end_, start);
    Value* count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, i64(schedule_.chunk));
    fold_strip(reduces, stores, values, start, count);
    Value* index = ir_.CreateLShr(ir_.CreateSub(start, col_begin_), i64(shift));
    for (std::size_t i = 0; i < reduces.size(); ++i)
      tree_push(reduce_at(i), trees[i], scalar_[static_cast<std::size_t>(reduces[i])], index);
  });
  Value* columns = ir_.CreateSub(col_end_, col_begin_);
  Value* chunks = ir_.CreateLShr(ir_.CreateAdd(columns, i64(schedule_.chunk - 1)), i64(shift));
  chunks = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, chunks, i64(1));
  for (std::size_t i = 0; i < reduces.size(); ++i)
    scalar_[static_cast<std::size_t>(reduces[i])] = tree_result(reduce_at(i), trees[i], chunks);
  for (int r : reduces) {
    Value*& result = scalar_[static_cast<std::size_t>(r)];
    const NestValue& reduce = nest_.values[static_cast<std::size_t>(r)];
    if (is_floating(reduce.dtype))
      result = ir_.CreateSelect(ir_.CreateICmpEQ(columns, i64(0)), empty_fold(reduce, 1), result);
  }
}

// The result of folding nothing: no negative zero.
NestEmitter::Value* NestEmitter::empty_fold(const NestValue& reduce, int lanes) {
  Value* identity = emit_identity(at(lanes), reduce);
  return ir_.CreateFAdd(identity, llvm::Constant::getNullValue(identity->getType()));
}

// One chunk: folds `count` columns into 64 lanes and those into scalar_ of each reduce.
void NestEmitter::fold_strip(const std::vector<int>& reduces, const std::vector<int>& stores,
                             const std::vector<int>& values, Value* start, Value* count) {
  const int lanes = schedule_.lanes, vectors = schedule_.fold_lanes / lanes;
  const bool in_memory = schedule_.accumulate_in_memory;
  Strip strip{.ports = ports_of(values, stores),
              .start = start,
              .count = count,
              .vectors = in_memory ? 1 : vectors,
              .masks = true};
  std::vector<Value*> memory;
  for (int r : reduces) {
    const NestValue& reduce = nest_.values[static_cast<std::size_t>(r)];
    Value* identity = emit_identity(at(lanes), reduce);
    if (in_memory) memory.push_back(stack(identity->getType(), vectors));
    for (int v = 0; v < vectors; ++v) {
      if (in_memory)
        ir_.CreateStore(identity,
                        ir_.CreateConstGEP1_64(identity->getType(), memory.back(), static_cast<std::uint64_t>(v)));
      else
        strip.carried.push_back(identity);
    }
  }
  strip.body = [&](const VectorStep& step, std::vector<Value*>& carried) {
    emit_loop_values(values, strip, step);
    emit_loop_stores(stores, strip, step);
    for (std::size_t i = 0; i < reduces.size(); ++i) {
      const NestValue& reduce = nest_.values[static_cast<std::size_t>(reduces[i])];
      Value* v = operand(reduce.args[0], lanes);
      if (in_memory) {
        Value* which = ir_.CreateAnd(ir_.CreateUDiv(step.position, i64(lanes)), i64(vectors - 1));
        Value* where = ir_.CreateGEP(v->getType(), memory[i], which);
        ir_.CreateStore(accumulate(reduce, ir_.CreateLoad(v->getType(), where), v, step.mask), where);
      } else {
        Value*& old = carried[i * static_cast<std::size_t>(vectors) + static_cast<std::size_t>(step.vector)];
        old = accumulate(reduce, old, v, step.mask);
      }
    }
  };
  emit_strip(strip);
  for (std::size_t i = 0; i < reduces.size(); ++i) {
    const NestValue& reduce = nest_.values[static_cast<std::size_t>(reduces[i])];
    llvm::Type* type = register_type(ir_.getContext(), reduce.dtype, lanes);
    std::vector<Value*> parts;
    for (int v = 0; v < vectors; ++v) {
      if (in_memory)
        parts.push_back(ir_.CreateLoad(type, ir_.CreateConstGEP1_64(type, memory[i], static_cast<std::uint64_t>(v))));
      else
        parts.push_back(strip.carried[i * static_cast<std::size_t>(vectors) + static_cast<std::size_t>(v)]);
    }
    scalar_[static_cast<std::size_t>(reduces[i])] = halve(reduce, std::move(parts));
  }
}

NestEmitter::Value* NestEmitter::accumulate(const NestValue& reduce, Value* old, Value* v, Value* mask) {
  Value* fresh = emit_combine(at(schedule_.lanes), reduce, old, v);
  return mask ? ir_.CreateSelect(mask, fresh, old) : fresh;
}

// Lane i with lane i + 32, then 16, ... 1.
NestEmitter::Value* NestEmitter::halve(const NestValue& reduce, std::vector<Value*> vectors) {
  int lanes = schedule_.lanes;
  while (vectors.size() > 1) {
    const std::size_t half = vectors.size() / 2;
    for (std::size_t i = 0; i < half; ++i) vectors[i] = emit_combine(at(lanes), reduce, vectors[i], vectors[i + half]);
    vectors.resize(half);
  }
  Value* v = vectors[0];
  for (; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (int i = 0; i < lanes / 2; ++i) low.push_back(i), high.push_back(i + lanes / 2);
    Value *a = ir_.CreateShuffleVector(v, low), *b = ir_.CreateShuffleVector(v, high);
    if (lanes == 2)
      a = ir_.CreateExtractElement(v, std::uint64_t{0}), b = ir_.CreateExtractElement(v, std::uint64_t{1});
    v = emit_combine(at(lanes / 2), reduce, a, b);
  }
  return v;
}

// Chunk `index` joins the tree: while its number has a low one bit, it completes the pair waiting on that level.
void NestEmitter::tree_push(const NestValue& reduce, Value* tree, Value* v, Value* index) {
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *test = block("tree"), *join = block("join"), *put = block("put");
  ir_.CreateBr(test);
  ir_.SetInsertPoint(test);
  auto *level = ir_.CreatePHI(ir_.getInt64Ty(), 2), *bits = ir_.CreatePHI(ir_.getInt64Ty(), 2),
       *sum = ir_.CreatePHI(v->getType(), 2);
  level->addIncoming(i64(0), before), bits->addIncoming(index, before), sum->addIncoming(v, before);
  Value* slot = ir_.CreateGEP(v->getType(), tree, level);
  ir_.CreateCondBr(ir_.CreateTrunc(bits, ir_.getInt1Ty()), join, put);
  ir_.SetInsertPoint(join);
  Value* joined = emit_combine(at(1), reduce, ir_.CreateLoad(v->getType(), slot), sum);
  level->addIncoming(ir_.CreateAdd(level, i64(1)), ir_.GetInsertBlock());
  bits->addIncoming(ir_.CreateLShr(bits, i64(1)), ir_.GetInsertBlock());
  sum->addIncoming(joined, ir_.GetInsertBlock());
  ir_.CreateBr(test);
  ir_.SetInsertPoint(put);
  ir_.CreateStore(sum, slot);
}

// The pairs still waiting, smallest first: an odd one out moves up a level unchanged.
NestEmitter::Value* NestEmitter::tree_result(const NestValue& reduce, Value* tree, Value* count) {
  llvm::Type* type = register_type(ir_.getContext(), reduce.dtype, 1);
  Value* lowest = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, count, ir_.getTrue());
  Value* first = ir_.CreateLoad(type, ir_.CreateGEP(type, tree, lowest));
  Value* above = ir_.CreateAdd(lowest, i64(1));
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *test = block("pairs"), *body = block("pair"), *join = block("join"),
                   *next = block("next"), *done = block("sum");
  Value* rest_first = ir_.CreateLShr(count, above);
  ir_.CreateBr(test);
  ir_.SetInsertPoint(test);
  auto *level = ir_.CreatePHI(ir_.getInt64Ty(), 2), *rest = ir_.CreatePHI(ir_.getInt64Ty(), 2),
       *sum = ir_.CreatePHI(type, 2);
  level->addIncoming(above, before), rest->addIncoming(rest_first, before), sum->addIncoming(first, before);
  ir_.CreateCondBr(ir_.CreateICmpEQ(rest, i64(0)), done, body);
  ir_.SetInsertPoint(body);
  ir_.CreateCondBr(ir_.CreateTrunc(rest, ir_.getInt1Ty()), join, next);
  ir_.SetInsertPoint(join);
  Value* joined = emit_combine(at(1), reduce, ir_.CreateLoad(type, ir_.CreateGEP(type, tree, level)), sum);
  llvm::BasicBlock* joined_at = ir_.GetInsertBlock();
  ir_.CreateBr(next);
  ir_.SetInsertPoint(next);
  auto* kept = ir_.CreatePHI(type, 2);
  kept->addIncoming(sum, body), kept->addIncoming(joined, joined_at);
  level->addIncoming(ir_.CreateAdd(level, i64(1)), next);
  rest->addIncoming(ir_.CreateLShr(rest, i64(1)), next);
  sum->addIncoming(kept, next);
  ir_.CreateBr(test);
  ir_.SetInsertPoint(done);
  return sum;
}

}  // namespace md
