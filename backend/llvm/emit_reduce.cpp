// Reductions along the columns, in the one order the language defines: element k of a 1,024-element chunk goes to lane
// k mod 64, lanes are combined by halving, chunks form a binary tree by index.
#include <bit>

#include "backend/llvm/fold_tree.h"
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
      push_into_tree(at(1), reduce_at(i), trees[i], scalar_[static_cast<std::size_t>(reduces[i])], index);
  });
  Value* columns = ir_.CreateSub(col_end_, col_begin_);
  Value* chunks = ir_.CreateLShr(ir_.CreateAdd(columns, i64(schedule_.chunk - 1)), i64(shift));
  chunks = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, chunks, i64(1));
  for (std::size_t i = 0; i < reduces.size(); ++i)
    scalar_[static_cast<std::size_t>(reduces[i])] = result_of_tree(at(1), reduce_at(i), trees[i], chunks);
  for (int r : reduces) {
    Value*& result = scalar_[static_cast<std::size_t>(r)];
    const NestValue& reduce = nest_.values[static_cast<std::size_t>(r)];
    if (is_floating(reduce.dtype))
      result = ir_.CreateSelect(ir_.CreateICmpEQ(columns, i64(0)), result_of_nothing(at(1), reduce), result);
  }
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

}  // namespace md
