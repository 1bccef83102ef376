// Pushing results into the tree of chunks, and what it comes to.
#include "backend/llvm/fold_tree.h"

#include "backend/llvm/llvm_builder.h"

namespace md {
namespace {

using llvm::Value;

llvm::BasicBlock* block(llvm::IRBuilder<>& ir, const char* name) {
  return llvm::BasicBlock::Create(ir.getContext(), name, ir.GetInsertBlock()->getParent());
}

}  // namespace

void push_into_tree(const Emit& e, const NestValue& reduce, Value* tree, Value* v, Value* index) {
  llvm::IRBuilder<>& ir = e.ir;
  llvm::BasicBlock *before = ir.GetInsertBlock(), *test = block(ir, "tree"), *join = block(ir, "join"),
                   *put = block(ir, "put");
  ir.CreateBr(test);
  ir.SetInsertPoint(test);
  auto *level = ir.CreatePHI(ir.getInt64Ty(), 2), *bits = ir.CreatePHI(ir.getInt64Ty(), 2),
       *sum = ir.CreatePHI(v->getType(), 2);
  level->addIncoming(ir.getInt64(0), before), bits->addIncoming(index, before), sum->addIncoming(v, before);
  Value* slot = ir.CreateGEP(v->getType(), tree, level);
  ir.CreateCondBr(ir.CreateTrunc(bits, ir.getInt1Ty()), join, put);
  ir.SetInsertPoint(join);
  Value* joined = emit_combine(e, reduce, ir.CreateLoad(v->getType(), slot), sum);
  level->addIncoming(ir.CreateAdd(level, ir.getInt64(1)), ir.GetInsertBlock());
  bits->addIncoming(ir.CreateLShr(bits, ir.getInt64(1)), ir.GetInsertBlock());
  sum->addIncoming(joined, ir.GetInsertBlock());
  ir.CreateBr(test);
  ir.SetInsertPoint(put);
  ir.CreateStore(sum, slot);
}

Value* result_of_tree(const Emit& e, const NestValue& reduce, Value* tree, Value* count) {
  llvm::IRBuilder<>& ir = e.ir;
  llvm::Type* type = register_type(ir.getContext(), reduce.dtype, 1);
  Value* lowest = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, count, ir.getTrue());
  Value* first = ir.CreateLoad(type, ir.CreateGEP(type, tree, lowest));
  Value* above = ir.CreateAdd(lowest, ir.getInt64(1));
  llvm::BasicBlock *before = ir.GetInsertBlock(), *test = block(ir, "pairs"), *body = block(ir, "pair"),
                   *join = block(ir, "join"), *next = block(ir, "next"), *done = block(ir, "sum");
  Value* rest_first = ir.CreateLShr(count, above);
  ir.CreateBr(test);
  ir.SetInsertPoint(test);
  auto *level = ir.CreatePHI(ir.getInt64Ty(), 2), *rest = ir.CreatePHI(ir.getInt64Ty(), 2),
       *sum = ir.CreatePHI(type, 2);
  level->addIncoming(above, before), rest->addIncoming(rest_first, before), sum->addIncoming(first, before);
  ir.CreateCondBr(ir.CreateICmpEQ(rest, ir.getInt64(0)), done, body);
  ir.SetInsertPoint(body);
  ir.CreateCondBr(ir.CreateTrunc(rest, ir.getInt1Ty()), join, next);
  ir.SetInsertPoint(join);
  Value* joined = emit_combine(e, reduce, ir.CreateLoad(type, ir.CreateGEP(type, tree, level)), sum);
  llvm::BasicBlock* joined_at = ir.GetInsertBlock();
  ir.CreateBr(next);
  ir.SetInsertPoint(next);
  auto* kept = ir.CreatePHI(type, 2);
  kept->addIncoming(sum, body), kept->addIncoming(joined, joined_at);
  level->addIncoming(ir.CreateAdd(level, ir.getInt64(1)), next);
  rest->addIncoming(ir.CreateLShr(rest, ir.getInt64(1)), next);
  sum->addIncoming(kept, next);
  ir.CreateBr(test);
  ir.SetInsertPoint(done);
  return sum;
}

Value* result_of_nothing(const Emit& e, const NestValue& reduce) {
  Value* identity = emit_identity(e, reduce);
  return e.ir.CreateFAdd(identity, llvm::Constant::getNullValue(identity->getType()));
}

}  // namespace md
