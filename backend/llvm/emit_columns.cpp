// Reductions that keep the innermost axis: vectors lie across the columns, partial results of a block of columns stay
// in L1 while the folded axis is walked in memory order. The order of folding is that of emit_reduce.cpp.
#include <algorithm>

#include "backend/llvm/fold_tree.h"
#include "backend/llvm/llvm_builder.h"
#include "backend/llvm/nest_emitter.h"
#include "registry/reduction_order.h"

namespace md {

namespace {
constexpr int kRowsAhead = 4;
constexpr int kTreeLevels = 24;  // 2^24 chunks of 1,024
}  // namespace

// What one fold keeps per column.
struct NestEmitter::ColumnFold {
  const NestValue* reduce;
  llvm::Type* element;
  Value* lanes;   // [fold lanes][block]
  Value* tree;    // [levels][block]
  Value* result;  // [block]
};

void NestEmitter::emit_columns() {
  const AxisMask folded = nest_.reduced;
  std::vector<int> inner_roots, inner_stores, outer_roots, outer_stores;
  std::vector<ColumnFold> folds;
  fold_of_.assign(nest_.values.size(), -1);
  for (std::size_t i = 0; i < nest_.values.size(); ++i) {
    const NestValue& v = nest_.values[i];
    if (v.kind != NestValue::Kind::Reduce) continue;
    inner_roots.push_back(v.args[0]);
    fold_of_[i] = static_cast<int>(folds.size());
    llvm::Type* element = register_type(ir_.getContext(), v.dtype, 1);
    const int block = schedule_.block, lanes = schedule_.fold_lanes;
    folds.push_back({&v, element, stack(element, lanes * block),
                     schedule_.one_chunk ? nullptr : stack(element, kTreeLevels * block), stack(element, block)});
  }
  for (std::size_t i = 0; i < nest_.stores.size(); ++i) {
    const int value = nest_.stores[i].value;
    const NestValue& v = nest_.values[static_cast<std::size_t>(value)];
    if (!in_loop(v)) continue;
    const bool inner = (v.axes & folded) != 0;
    (inner ? inner_roots : outer_roots).push_back(value);
    (inner ? inner_stores : outer_stores).push_back(static_cast<int>(i));
  }
  const std::vector<int> inner = needed_in_loop(inner_roots), outer = needed_in_loop(outer_roots);
  make_splats(inner);
  make_splats(inner_roots);
  make_splats(outer);
  make_splats(outer_roots);
  loop(col_begin_, col_end_, schedule_.block, false, [&](Value* column) {
    Value* width =
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateSub(col_end_, column), i64(schedule_.block));
    fold_columns(folds, inner, inner_stores, column, width);
    Strip strip{.ports = ports_of(outer, outer_stores), .start = column, .count = width, .masks = status_ != nullptr};
    strip.body = [&](const VectorStep& step, std::vector<Value*>&) {
      for (std::size_t i = 0; i < nest_.values.size(); ++i)
        if (fold_of_[i] >= 0)
          vector_[i] = load_vector(folds[static_cast<std::size_t>(fold_of_[i])],
                                   folds[static_cast<std::size_t>(fold_of_[i])].result, step.position);
      emit_loop_values(outer, strip, step);
      emit_loop_stores(outer_stores, strip, step);
    };
    emit_strip(strip);
  });
}

void NestEmitter::fold_columns(const std::vector<ColumnFold>& folds, const std::vector<int>& values,
                               const std::vector<int>& stores, Value* column, Value* width) {
  const std::vector<Port> at_row = ports_;
  Value* end = folded_extent_ ? folded_extent_ : i64(1);
  loop(i64(0), end, kReductionChunk, true, [&](Value* first) {
    for (const ColumnFold& f : folds)
      each_vector(width, [&](Value* c) {
        for (int lane = 0; lane < schedule_.fold_lanes; ++lane)
          store_vector(f, emit_identity(at(schedule_.lanes), *f.reduce), f.lanes,
                       ir_.CreateAdd(c, i64(lane * schedule_.block)));
      });
    Value* last = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, ir_.CreateAdd(first, i64(kReductionChunk)));
    loop(first, last, 1, false, [&](Value* k) {
      for (std::size_t i = 0; i < ports_.size(); ++i)
        if (ports_[i].folded_stride)
          ports_[i].row = element_at(ports_[i].access->dtype, at_row[i].row, ir_.CreateMul(k, ports_[i].folded_stride));
      Value* lane = ir_.CreateMul(ir_.CreateAnd(k, i64(schedule_.fold_lanes - 1)), i64(schedule_.block));
      Strip strip{.ports = ports_of(values, stores), .start = column, .count = width, .masks = status_ != nullptr};
      strip.body = [&](const VectorStep& step, std::vector<Value*>&) {
        prefetch_rows(strip, step);
        emit_loop_values(values, strip, step);
        emit_loop_stores(stores, strip, step);
        for (const ColumnFold& f : folds) {
          Value* where = ir_.CreateAdd(lane, step.position);
          Value* v = operand(f.reduce->args[0], schedule_.lanes);
          store_vector(f, emit_combine(at(schedule_.lanes), *f.reduce, load_vector(f, f.lanes, where), v), f.lanes,
                       where);
        }
      };
      emit_strip(strip);
    });
    for (std::size_t i = 0; i < ports_.size(); ++i) ports_[i].row = at_row[i].row;
    for (const ColumnFold& f : folds) finish_chunk(f, width, ir_.CreateLShr(first, i64(10)));
  });
  if (schedule_.one_chunk) return;
  Value* chunks = ir_.CreateLShr(ir_.CreateAdd(end, i64(kReductionChunk - 1)), i64(10));
  chunks = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, chunks, i64(1));
  for (const ColumnFold& f : folds) finish_tree(f, width, chunks, end);
}

// The processor's own prefetching stops where a row ends in this block or on its page.
void NestEmitter::prefetch_rows(const Strip& strip, const VectorStep& step) {
  for (std::size_t i = 0; i < strip.ports.size(); ++i) {
    const Port& port = ports_[static_cast<std::size_t>(strip.ports[i])];
    if (port.store || !port.folded_stride || port.col == StrideKind::Zero) continue;
    Value* ahead = ir_.CreateMul(port.folded_stride, i64(kRowsAhead));
    Value* address = element_at(port.access->dtype, step.pointers[i], ahead);
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                        {address, ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
  }
}

// Lanes fold by halving; the chunk joins the tree.
void NestEmitter::finish_chunk(const ColumnFold& f, Value* width, Value* index) {
  each_vector(width, [&](Value* c) {
    std::vector<Value*> lanes;
    for (int lane = 0; lane < schedule_.fold_lanes; ++lane)
      lanes.push_back(load_vector(f, f.lanes, ir_.CreateAdd(c, i64(lane * schedule_.block))));
    while (lanes.size() > 1) {
      const std::size_t half = lanes.size() / 2;
      for (std::size_t i = 0; i < half; ++i)
        lanes[i] = emit_combine(at(schedule_.lanes), *f.reduce, lanes[i], lanes[i + half]);
      lanes.resize(half);
    }
    store_vector(f, lanes[0], f.result, c);
  });
  if (schedule_.one_chunk) return;
  // While the chunk's number has a low one bit it completes the pair waiting on that level.
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *test = block("tree"), *join = block("join"), *put = block("put");
  ir_.CreateBr(test);
  ir_.SetInsertPoint(test);
  auto *level = ir_.CreatePHI(ir_.getInt64Ty(), 2), *bits = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  level->addIncoming(i64(0), before), bits->addIncoming(index, before);
  Value* row = ir_.CreateMul(level, i64(schedule_.block));
  ir_.CreateCondBr(ir_.CreateTrunc(bits, ir_.getInt1Ty()), join, put);
  ir_.SetInsertPoint(join);
  join_level(f, width, row);
  level->addIncoming(ir_.CreateAdd(level, i64(1)), ir_.GetInsertBlock());
  bits->addIncoming(ir_.CreateLShr(bits, i64(1)), ir_.GetInsertBlock());
  ir_.CreateBr(test);
  ir_.SetInsertPoint(put);
  each_vector(width, [&](Value* c) { store_vector(f, load_vector(f, f.result, c), f.tree, ir_.CreateAdd(row, c)); });
}

// result = combine(tree level, result)
void NestEmitter::join_level(const ColumnFold& f, Value* width, Value* row) {
  each_vector(width, [&](Value* c) {
    Value* waiting = load_vector(f, f.tree, ir_.CreateAdd(row, c));
    store_vector(f, emit_combine(at(schedule_.lanes), *f.reduce, waiting, load_vector(f, f.result, c)), f.result, c);
  });
}

// The pairs still waiting, smallest first: an odd one out moves up a level unchanged.
void NestEmitter::finish_tree(const ColumnFold& f, Value* width, Value* chunks, Value* folded) {
  Value* lowest = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, chunks, ir_.getTrue());
  Value* row = ir_.CreateMul(lowest, i64(schedule_.block));
  each_vector(width, [&](Value* c) { store_vector(f, load_vector(f, f.tree, ir_.CreateAdd(row, c)), f.result, c); });
  loop(ir_.CreateAdd(lowest, i64(1)), i64(kTreeLevels), 1, false, [&](Value* level) {
    llvm::BasicBlock *join = block("join"), *next = block("next");
    ir_.CreateCondBr(ir_.CreateTrunc(ir_.CreateLShr(chunks, level), ir_.getInt1Ty()), join, next);
    ir_.SetInsertPoint(join);
    join_level(f, width, ir_.CreateMul(level, i64(schedule_.block)));
    ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
  });
  if (!is_floating(f.reduce->dtype)) return;
  llvm::BasicBlock *empty = block("nothing"), *done = block("folded");
  ir_.CreateCondBr(ir_.CreateICmpEQ(folded, i64(0)), empty, done);
  ir_.SetInsertPoint(empty);
  each_vector(width,
              [&](Value* c) { store_vector(f, result_of_nothing(at(schedule_.lanes), *f.reduce), f.result, c); });
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

// body(c) for every vector of the block; the last may reach beyond `width` into the block's own padding.
void NestEmitter::each_vector(Value* width, const std::function<void(Value*)>& body) {
  loop(i64(0), width, schedule_.lanes, false, body);
}

NestEmitter::Value* NestEmitter::load_vector(const ColumnFold& f, Value* base, Value* index) {
  return ir_.CreateAlignedLoad(lanes_of(f.element, schedule_.lanes), ir_.CreateGEP(f.element, base, index),
                               llvm::Align(1));
}
void NestEmitter::store_vector(const ColumnFold& f, Value* v, Value* base, Value* index) {
  ir_.CreateAlignedStore(v, ir_.CreateGEP(f.element, base, index), llvm::Align(1));
}

}  // namespace md
