// The LLVM builder of op bodies (the concept of registry/ops/builder.h): every value is a vector of `lanes` elements,
// or a scalar when lanes is 1. No fast-math flag is ever set: each instruction is one IEEE operation.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/llvm/gpu_functions.h"
#include "backend/llvm/runtime_symbols.h"
#include "registry/dtype.h"

namespace md {

// An element in memory: bool is i8 0/1, the 16-bit floats are their bits.
inline llvm::Type* element_type(llvm::LLVMContext& c, DType t) {
  if (!is_computed_floating(t)) return llvm::Type::getIntNTy(c, static_cast<unsigned>(item_size(t) * 8));
  return item_size(t) == sizeof(double) ? llvm::Type::getDoubleTy(c) : llvm::Type::getFloatTy(c);
}
inline llvm::Type* lanes_of(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

// T is the C++ type of the compute dtype.
template <class T>
class LlvmBuilder {
 public:
  using Scalar = T;
  static constexpr bool kInteger = std::is_integral_v<T>;
  static constexpr bool is_double() { return std::is_same_v<T, double>; }
  struct V {
    llvm::Value* v;
  };
  struct I {
    llvm::Value* v;
  };
  struct M {
    llvm::Value* v;
  };

  static constexpr int width() { return sizeof(T) * 8; }

  LlvmBuilder(llvm::IRBuilder<>& ir, const Target& target, int lanes)
      : ir_(ir),
        target_(target),
        lanes_(lanes),
        int_type_(lanes_of(ir.getIntNTy(sizeof(T) * 8), lanes)),
        value_type_(kInteger ? int_type_ : lanes_of(sizeof(T) == 4 ? ir.getFloatTy() : ir.getDoubleTy(), lanes)),
        mask_type_(lanes_of(ir.getInt1Ty(), lanes)) {}

  V constant(double d) const {
    if constexpr (!kInteger) return {llvm::ConstantFP::get(value_type_, d)};
    return {llvm::ConstantInt::get(int_type_, static_cast<std::uint64_t>(static_cast<std::int64_t>(d)), true)};
  }
  V lowest() const {
    if constexpr (kInteger)
      return {iconst(static_cast<std::int64_t>(std::numeric_limits<T>::min())).v};
    else
      return constant(-std::numeric_limits<double>::infinity());
  }
  V highest() const {
    if constexpr (kInteger)
      return {iconst(static_cast<std::int64_t>(std::numeric_limits<T>::max())).v};
    else
      return constant(std::numeric_limits<double>::infinity());
  }
  I iconst(std::int64_t i) const { return {llvm::ConstantInt::get(int_type_, static_cast<std::uint64_t>(i), true)}; }
  M mconst(bool b) const { return {llvm::ConstantInt::get(mask_type_, b)}; }

  V add(V a, V b) const { return {!kInteger ? ir_.CreateFAdd(a.v, b.v) : ir_.CreateAdd(a.v, b.v)}; }
  V sub(V a, V b) const { return {!kInteger ? ir_.CreateFSub(a.v, b.v) : ir_.CreateSub(a.v, b.v)}; }
  V mul(V a, V b) const { return {!kInteger ? ir_.CreateFMul(a.v, b.v) : ir_.CreateMul(a.v, b.v)}; }
  V neg(V a) const { return {!kInteger ? ir_.CreateFNeg(a.v) : ir_.CreateNeg(a.v)}; }
  V div(V a, V b) const { return {ir_.CreateFDiv(a.v, b.v)}; }
  V sqrt(V a) const { return unary(llvm::Intrinsic::sqrt, a); }
  V floor(V a) const { return unary(llvm::Intrinsic::floor, a); }
  V ceil(V a) const { return unary(llvm::Intrinsic::ceil, a); }
  V trunc(V a) const { return unary(llvm::Intrinsic::trunc, a); }
  V rint(V a) const { return unary(llvm::Intrinsic::rint, a); }
  V abs(V a) const { return unary(llvm::Intrinsic::fabs, a); }
  V fma(V a, V b, V c) const { return {ir_.CreateIntrinsic(llvm::Intrinsic::fma, {value_type_}, {a.v, b.v, c.v})}; }
  V fmod(V a, V b) const { return target_.is_gpu() ? fmod_on_gpu(a, b) : V{ir_.CreateFRem(a.v, b.v)}; }
  V scale(V v, V k) const;
  template <class Fn>
  V call_rare(M rare, V x, V usual) const;
  V idiv(V a, V b) const { return {ir_.CreateSDiv(a.v, b.v)}; }
  V imod(V a, V b) const { return {ir_.CreateSRem(a.v, b.v)}; }

  M lt(V a, V b) const { return {!kInteger ? ir_.CreateFCmpOLT(a.v, b.v) : ir_.CreateICmpSLT(a.v, b.v)}; }
  M le(V a, V b) const { return {!kInteger ? ir_.CreateFCmpOLE(a.v, b.v) : ir_.CreateICmpSLE(a.v, b.v)}; }
  M gt(V a, V b) const { return lt(b, a); }
  M ge(V a, V b) const { return le(b, a); }
  M eq(V a, V b) const { return {!kInteger ? ir_.CreateFCmpOEQ(a.v, b.v) : ir_.CreateICmpEQ(a.v, b.v)}; }
  M ne(V a, V b) const { return {!kInteger ? ir_.CreateFCmpUNE(a.v, b.v) : ir_.CreateICmpNE(a.v, b.v)}; }

  V select(M m, V a, V b) const { return {ir_.CreateSelect(m.v, a.v, b.v)}; }
  I iselect(M m, I a, I b) const { return {ir_.CreateSelect(m.v, a.v, b.v)}; }
  M mand(M a, M b) const { return {ir_.CreateAnd(a.v, b.v)}; }
  M mor(M a, M b) const { return {ir_.CreateOr(a.v, b.v)}; }
  M mxor(M a, M b) const { return {ir_.CreateXor(a.v, b.v)}; }
  M mnot(M a) const { return {ir_.CreateNot(a.v)}; }

  I as_bits(V a) const { return {ir_.CreateBitCast(a.v, int_type_)}; }
  V from_bits(I a) const { return {ir_.CreateBitCast(a.v, value_type_)}; }
  I iadd(I a, I b) const { return {ir_.CreateAdd(a.v, b.v)}; }
  I isub(I a, I b) const { return {ir_.CreateSub(a.v, b.v)}; }
  I imul(I a, I b) const { return {ir_.CreateMul(a.v, b.v)}; }
  I iand(I a, I b) const { return {ir_.CreateAnd(a.v, b.v)}; }
  I ior(I a, I b) const { return {ir_.CreateOr(a.v, b.v)}; }
  I ixor(I a, I b) const { return {ir_.CreateXor(a.v, b.v)}; }
  I ishl(I a, int n) const { return {ir_.CreateShl(a.v, iconst(n).v)}; }
  I isar(I a, int n) const { return {ir_.CreateAShr(a.v, iconst(n).v)}; }
  I ishr(I a, int n) const { return {ir_.CreateLShr(a.v, iconst(n).v)}; }
  M ilt(I a, I b) const { return {ir_.CreateICmpSLT(a.v, b.v)}; }
  M ieq(I a, I b) const { return {ir_.CreateICmpEQ(a.v, b.v)}; }
  I to_int(V a) const { return {!kInteger ? ir_.CreateFPToSI(a.v, int_type_) : a.v}; }
  V from_int(I a) const { return {!kInteger ? ir_.CreateSIToFP(a.v, value_type_) : a.v}; }

 private:
  llvm::Value* scale_whole_vectors(V v, V k) const;
  V fmod_on_gpu(V a, V b) const;
  void call_preserving_registers(const std::string& name, std::initializer_list<llvm::Value*> args) const;
  template <class Fn>
  V call_rare_on_gpu(M rare, V x, V usual) const;
  V unary(llvm::Intrinsic::ID id, V a) const { return {ir_.CreateUnaryIntrinsic(id, a.v)}; }

  llvm::IRBuilder<>& ir_;
  const Target& target_;
  int lanes_;
  llvm::Type* int_type_;
  llvm::Type* value_type_;
  llvm::Type* mask_type_;
};

// v * 2^k, rounded once: one instruction on AVX-512, else two exact-then-rounded products.
template <class T>
typename LlvmBuilder<T>::V LlvmBuilder<T>::scale(V v, V k) const {
  if (target_.masked_moves && lanes_ * static_cast<int>(sizeof(T)) % 64 == 0) return {scale_whole_vectors(v, k)};
  constexpr int kMantissa = is_double() ? 52 : 23, kBias = is_double() ? 1023 : 127;
  const V magic = constant(is_double() ? 0x1.8p52 : 0x1.8p23);  // leaves an integer in the low bits of a sum
  const I whole = isub(as_bits(add(k, magic)), as_bits(magic));
  const I half = isar(whole, 1);
  const auto power = [&](I n) { return from_bits(ishl(iadd(n, iconst(kBias)), kMantissa)); };
  return mul(mul(v, power(half)), power(isub(whole, half)));
}

// AVX-512's scalef, one register at a time.
template <class T>
llvm::Value* LlvmBuilder<T>::scale_whole_vectors(V v, V k) const {
  constexpr int kWidth = 64 / sizeof(T), kCurrentRounding = 4;
  const auto id =
      is_double() ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
  auto* all = llvm::Constant::getAllOnesValue(ir_.getIntNTy(kWidth));
  llvm::Value* whole = nullptr;
  for (int first = 0; first < lanes_; first += kWidth) {
    llvm::SmallVector<int, kWidth> part;
    for (int i = 0; i < kWidth; ++i) part.push_back(first + i);
    llvm::Value *x = ir_.CreateShuffleVector(v.v, part), *n = ir_.CreateShuffleVector(k.v, part);
    llvm::Value* scaled = ir_.CreateIntrinsic(
        id, {}, {x, n, llvm::Constant::getNullValue(x->getType()), all, ir_.getInt32(kCurrentRounding)});
    if (lanes_ == kWidth) return scaled;
    if (!whole) whole = llvm::PoisonValue::get(value_type_);
    whole = ir_.CreateInsertVector(value_type_, whole, scaled, ir_.getInt64(static_cast<std::uint64_t>(first)));
  }
  return whole;
}

// The code generator is told that no register changes: it spills nothing for a call that practically never happens.
template <class T>
void LlvmBuilder<T>::call_preserving_registers(const std::string& name,
                                               std::initializer_list<llvm::Value*> args) const {
  llvm::Module& module = *ir_.GetInsertBlock()->getModule();
  llvm::Type *const ptr = ir_.getPtrTy(), *const nothing = ir_.getVoidTy();
  llvm::SmallVector<llvm::Value*, 4> all = {
      module.getOrInsertFunction(name, llvm::FunctionType::get(nothing, false)).getCallee()};
  all.append(args);
  auto* type = llvm::FunctionType::get(nothing, {ptr, ptr, ptr, ir_.getInt64Ty()}, false);
  llvm::CallInst* call = ir_.CreateCall(module.getOrInsertFunction(rare_call_entry(target_), type), all);
  call->addFnAttr(llvm::Attribute::get(ir_.getContext(), "no_caller_saved_registers"));
  call->setDoesNotThrow();
}

template <class T>
template <class Fn>
typename LlvmBuilder<T>::V LlvmBuilder<T>::call_rare(M rare, V x, V usual) const {
  if (target_.is_gpu()) return call_rare_on_gpu<Fn>(rare, x, usual);
  llvm::Value* any = lanes_ == 1 ? rare.v : ir_.CreateOrReduce(rare.v);
  llvm::Function* function = ir_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  auto* call = llvm::BasicBlock::Create(ir_.getContext(), "rare", function);
  auto* after = llvm::BasicBlock::Create(ir_.getContext(), "usual", function);
  llvm::MDBuilder weights(ir_.getContext());
  ir_.CreateCondBr(any, call, after, weights.createBranchWeights(1, 1 << 20));
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  llvm::Value *in = entry.CreateAlloca(value_type_), *out = entry.CreateAlloca(value_type_);

  ir_.SetInsertPoint(call);
  ir_.CreateStore(x.v, in);
  ir_.CreateStore(usual.v, out);
  llvm::Value* bits =
      ir_.CreateZExt(ir_.CreateBitCast(rare.v, ir_.getIntNTy(static_cast<unsigned>(lanes_))), ir_.getInt64Ty());
  call_preserving_registers(rare_function_name<Fn, T>(), {in, out, bits});
  llvm::Value* replaced = ir_.CreateLoad(value_type_, out);
  ir_.CreateBr(after);

  ir_.SetInsertPoint(after);
  auto* result = ir_.CreatePHI(value_type_, 2);
  result->addIncoming(usual.v, before);
  result->addIncoming(replaced, call);
  return {result};
}

template <class T>
typename LlvmBuilder<T>::V LlvmBuilder<T>::fmod_on_gpu(V a, V b) const {
  llvm::Type *const wide = ir_.getDoubleTy(), *const element = sizeof(T) == 4 ? ir_.getFloatTy() : wide;
  llvm::FunctionCallee callee = ir_.GetInsertBlock()->getModule()->getOrInsertFunction(
      kFmodFunction, llvm::FunctionType::get(wide, {wide, wide}, false));
  // The remainder of two float32 is a float32: nothing is rounded on the way.
  llvm::Value* result = lanes_ == 1 ? nullptr : llvm::PoisonValue::get(value_type_);
  for (int i = 0; i < lanes_; ++i) {
    const auto lane = static_cast<std::uint64_t>(i);
    const auto argument = [&](llvm::Value* v) {
      return ir_.CreateFPExt(lanes_ == 1 ? v : ir_.CreateExtractElement(v, lane), wide);
    };
    llvm::Value* one = ir_.CreateFPTrunc(ir_.CreateCall(callee, {argument(a.v), argument(b.v)}), element);
    result = lanes_ == 1 ? one : ir_.CreateInsertElement(result, one, lane);
  }
  return {result};
}

// A function of the module, called by the threads that need it.
template <class T>
template <class Fn>
typename LlvmBuilder<T>::V LlvmBuilder<T>::call_rare_on_gpu(M rare, V x, V usual) const {
  llvm::Function* const function = ir_.GetInsertBlock()->getParent();
  llvm::Type* const element = sizeof(T) == 4 ? ir_.getFloatTy() : ir_.getDoubleTy();
  llvm::FunctionCallee callee = function->getParent()->getOrInsertFunction(
      rare_function_name<Fn, T>(), llvm::FunctionType::get(element, {element}, false));
  llvm::Value* result = usual.v;
  for (int i = 0; i < lanes_; ++i) {
    const auto lane = static_cast<std::uint64_t>(i);
    const auto of_lane = [&](llvm::Value* v) { return lanes_ == 1 ? v : ir_.CreateExtractElement(v, lane); };
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    auto* call = llvm::BasicBlock::Create(ir_.getContext(), "rare", function);
    auto* after = llvm::BasicBlock::Create(ir_.getContext(), "usual", function);
    llvm::Value *known = of_lane(result), *argument = of_lane(x.v);
    ir_.CreateCondBr(of_lane(rare.v), call, after);
    ir_.SetInsertPoint(call);
    llvm::Value* replaced = ir_.CreateCall(callee, {argument});
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
    auto* chosen = ir_.CreatePHI(element, 2);
    chosen->addIncoming(known, before), chosen->addIncoming(replaced, call);
    result = lanes_ == 1 ? chosen : ir_.CreateInsertElement(result, chosen, lane);
  }
  return {result};
}

}  // namespace md
