// Nests without folds: each thread computes one element, or a few neighbours where they are moved in one access.
#include <numeric>

#include "backend/llvm/gpu_emitter.h"

namespace md {

void GpuEmitter::emit_elements() {
  const bool one_row = schedule_.rows.empty();
  const int width = schedule_.width;
  Value* number = ir_.CreateAdd(ir_.CreateMul(wide(gpu_.block(0)), i64(schedule_.x)), wide(x_));
  Value* groups = width == 1 ? cols_ : ir_.CreateUDiv(cols_, i64(width));
  Value* count = one_row ? groups : ir_.CreateMul(rows_, groups);
  llvm::BasicBlock *inside = block("element"), *done = block("done");
  ir_.CreateCondBr(ir_.CreateICmpULT(number, count), inside, done);
  ir_.SetInsertPoint(done);
  ir_.CreateRetVoid();
  ir_.SetInsertPoint(inside);
  Value *col = number, *row = i64(0);
  if (!one_row) {
    llvm::Type* const type = schedule_.short_index ? ir_.getInt32Ty() : ir_.getInt64Ty();
    Value *n = ir_.CreateTrunc(number, type), *each = ir_.CreateTrunc(groups, type);
    row = ir_.CreateZExt(ir_.CreateUDiv(n, each), ir_.getInt64Ty());
    col = ir_.CreateZExt(ir_.CreateURem(n, each), ir_.getInt64Ty());
  }
  if (width > 1) col = ir_.CreateMul(col, i64(width));
  position_rows(row);
  emit_row_values(0);
  if (width == 1) {
    emit_group(col, 1);
    return;
  }
  llvm::BasicBlock *together = block("together"), *single = block("single"), *after = block("after");
  ir_.CreateCondBr(all_aligned(), together, single);
  ir_.SetInsertPoint(together);
  emit_group(col, width);
  ir_.CreateBr(after);
  ir_.SetInsertPoint(single);
  std::vector<Value*> none;
  loop(col, ir_.CreateAdd(col, i64(width)), i64(1), none,
       [&](Value* one, std::vector<Value*>&) { emit_group(one, 1); });
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

void GpuEmitter::emit_group(Value* col, int lanes) {
  std::vector<int> roots, stores(nest_.stores.size());
  for (const Store& s : nest_.stores) roots.push_back(s.value);
  std::iota(stores.begin(), stores.end(), 0);
  emit_values(needed(roots), col, lanes);
  emit_stores(stores, col, lanes, nullptr);
}

// Whether the memory of every tensor begins where a group of its elements may: what follows was seen to before.
llvm::Value* GpuEmitter::all_aligned() {
  Value* low = nullptr;
  for (const Port& p : ports_) {
    if (p.col == StrideKind::Zero) continue;
    const auto bytes = static_cast<std::int64_t>(item_size(p.access->dtype)) * schedule_.width;
    Value* beyond = ir_.CreateAnd(ir_.CreatePtrToInt(p.base, ir_.getInt64Ty()), i64(bytes - 1));
    low = low ? ir_.CreateOr(low, beyond) : beyond;
  }
  return low ? ir_.CreateICmpEQ(low, i64(0)) : ir_.getTrue();
}

}  // namespace md
