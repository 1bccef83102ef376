// Bodies for the functions that kernels name: the same formulas as on a processor, over LLVM's values.
#include "backend/llvm/gpu_functions.h"

#include <llvm/IR/IRBuilder.h>

#include "backend/llvm/runtime_symbols.h"

namespace md {
namespace {

using llvm::Value;

// The words and numbers of registry/ops/large_angle.h.
class LlvmWords {
 public:
  using V = Value*;
  using U = Value*;
  using M = Value*;
  explicit LlvmWords(llvm::IRBuilder<>& ir) : ir_(ir) {}

  V constant(double c) { return llvm::ConstantFP::get(ir_.getDoubleTy(), c); }
  V add(V a, V b) { return ir_.CreateFAdd(a, b); }
  V sub(V a, V b) { return ir_.CreateFSub(a, b); }
  V mul(V a, V b) { return ir_.CreateFMul(a, b); }
  V div(V a, V b) { return ir_.CreateFDiv(a, b); }
  V neg(V a) { return ir_.CreateFNeg(a); }
  V fma(V a, V b, V c) { return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}); }
  V select(M m, V a, V b) { return ir_.CreateSelect(m, a, b); }
  U word(std::uint64_t c) { return ir_.getInt64(c); }
  U uadd(U a, U b) { return ir_.CreateAdd(a, b); }
  U usub(U a, U b) { return ir_.CreateSub(a, b); }
  U umul(U a, U b) { return ir_.CreateMul(a, b); }
  U umul_high(U a, U b) {
    llvm::Type* const twice = ir_.getInt128Ty();
    Value* product = ir_.CreateMul(ir_.CreateZExt(a, twice), ir_.CreateZExt(b, twice));
    return ir_.CreateTrunc(ir_.CreateLShr(product, 64), ir_.getInt64Ty());
  }
  U uand(U a, U b) { return ir_.CreateAnd(a, b); }
  U uor(U a, U b) { return ir_.CreateOr(a, b); }
  U uxor(U a, U b) { return ir_.CreateXor(a, b); }
  U shift_left(U a, U n) { return ir_.CreateShl(a, n); }
  U shift_right(U a, U n) { return ir_.CreateLShr(a, n); }
  U leading_zeros(U a) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, ir_.getTrue()); }
  U uselect(M m, U a, U b) { return ir_.CreateSelect(m, a, b); }
  M ult(U a, U b) { return ir_.CreateICmpULT(a, b); }
  M ueq(U a, U b) { return ir_.CreateICmpEQ(a, b); }
  U bits(V v) { return ir_.CreateBitCast(v, ir_.getInt64Ty()); }
  V from_bits(U u) { return ir_.CreateBitCast(u, ir_.getDoubleTy()); }
  V from_number(U u) { return ir_.CreateSIToFP(u, ir_.getDoubleTy()); }
  U to_number(V v) { return ir_.CreateFPToSI(v, ir_.getInt64Ty()); }
  template <std::size_t kCount>
  U element(const std::uint64_t (&table)[kCount], U i) {
    llvm::Module& module = *ir_.GetInsertBlock()->getModule();
    constexpr const char* kName = "minidynamo_table";
    constexpr unsigned kConstantSpace = 4;
    llvm::GlobalVariable* memory = module.getNamedGlobal(kName);
    if (!memory) {
      auto* values = llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<std::uint64_t>(table));
      memory = new llvm::GlobalVariable(module, values->getType(), true, llvm::GlobalValue::InternalLinkage, values,
                                        kName, nullptr, llvm::GlobalValue::NotThreadLocal, kConstantSpace);
    }
    return ir_.CreateLoad(ir_.getInt64Ty(), ir_.CreateGEP(ir_.getInt64Ty(), memory, i));
  }

 private:
  llvm::IRBuilder<>& ir_;
};

// The function if the module names it, ready for a body.
llvm::Function* wanted(llvm::Module& module, const std::string& name) {
  llvm::Function* const f = module.getFunction(name);
  if (!f || !f->empty()) return nullptr;
  f->setLinkage(llvm::GlobalValue::InternalLinkage);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  return f;
}

template <class Fn>
void define_rare(llvm::Module& module) {
  for (const bool narrow : {true, false}) {
    llvm::Function* const f =
        wanted(module, narrow ? rare_function_name<Fn, float>() : rare_function_name<Fn, double>());
    if (!f) continue;
    llvm::IRBuilder<> ir(llvm::BasicBlock::Create(module.getContext(), "entry", f));
    LlvmWords words(ir);
    Value* x = f->getArg(0);
    if (narrow) x = ir.CreateFPExt(x, ir.getDoubleTy());
    Value* result = Fn::evaluate(words, x);
    ir.CreateRet(narrow ? ir.CreateFPTrunc(result, ir.getFloatTy()) : result);
  }
}
template <class... Fn>
void define_rare(llvm::Module& module, RareFunctions<Fn...>) {
  (define_rare<Fn>(module), ...);
}

// A finite number that is not 0 as a 53-bit significand times a power of two.
struct Parts {
  Value *significand, *exponent;
};
Parts parts(LlvmWords& n, Value* bits) {
  Value* field = n.shift_right(bits, n.word(52));
  Value* fraction = n.uand(bits, n.word((1ull << 52) - 1));
  Value* subnormal = n.ueq(field, n.word(0));
  Value* zeros = n.usub(n.leading_zeros(n.uor(fraction, n.word(1))), n.word(11));
  return {n.uselect(subnormal, n.shift_left(fraction, zeros), n.uor(fraction, n.word(1ull << 52))),
          n.uselect(subnormal, n.usub(n.word(1), zeros), field)};
}

// Long division of the significands, some bits at a time: the remainder is exact.
void define_fmod(llvm::Module& module) {
  llvm::Function* const f = wanted(module, kFmodFunction);
  if (!f) return;
  llvm::LLVMContext& c = module.getContext();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(c, name, f); };
  llvm::BasicBlock *entry = block("entry"), *easy = block("easy"), *divide = block("divide"), *step = block("step"),
                   *done = block("done");
  llvm::IRBuilder<> ir(entry);
  LlvmWords n(ir);
  constexpr std::uint64_t kSign = 1ull << 63, kInfinity = 0x7ffull << 52, kAtOnce = 11;
  Value *x = n.bits(f->getArg(0)), *sign = n.uand(x, n.word(kSign));
  Value *a = n.uxor(x, sign), *b = n.uand(n.bits(f->getArg(1)), n.word(~kSign));
  Value* undefined = ir.CreateOr(n.ueq(b, n.word(0)),
                                 ir.CreateOr(ir.CreateICmpUGE(a, n.word(kInfinity)), n.ult(n.word(kInfinity), b)));
  ir.CreateCondBr(ir.CreateOr(undefined, n.ult(a, b)), easy, divide);
  ir.SetInsertPoint(easy);
  ir.CreateRet(n.select(undefined, llvm::ConstantFP::getNaN(ir.getDoubleTy()), f->getArg(0)));

  ir.SetInsertPoint(divide);
  const Parts dividend = parts(n, a), divisor = parts(n, b);
  Value* first = ir.CreateURem(dividend.significand, divisor.significand);
  Value* distance = n.usub(dividend.exponent, divisor.exponent);
  ir.CreateCondBr(n.ueq(distance, n.word(0)), done, step);
  ir.SetInsertPoint(step);
  auto *rest = ir.CreatePHI(ir.getInt64Ty(), 2), *left = ir.CreatePHI(ir.getInt64Ty(), 2);
  Value* bits = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, n.word(kAtOnce));
  Value* smaller = ir.CreateURem(n.shift_left(rest, bits), divisor.significand);
  Value* less = n.usub(left, bits);
  rest->addIncoming(first, divide), rest->addIncoming(smaller, step);
  left->addIncoming(distance, divide), left->addIncoming(less, step);
  ir.CreateCondBr(n.ueq(less, n.word(0)), done, step);

  ir.SetInsertPoint(done);
  auto* remainder = ir.CreatePHI(ir.getInt64Ty(), 2);
  remainder->addIncoming(first, divide), remainder->addIncoming(smaller, step);
  // Back to a number: the leading one to bit 52, or less far where the number is subnormal.
  Value* zeros = n.usub(n.leading_zeros(n.uor(remainder, n.word(1))), n.word(11));
  Value* room = n.usub(divisor.exponent, n.word(1));  // a signed number: negative for a subnormal divisor
  Value* moved = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, zeros, room);
  Value* up = n.shift_left(remainder, ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, moved, n.word(0)));
  Value* down = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n.usub(n.word(0), moved), n.word(0));
  Value* fraction = n.shift_right(up, down);
  Value* normal = n.ult(n.word((1ull << 52) - 1), fraction);
  Value* field = n.uselect(normal, n.usub(divisor.exponent, moved), n.word(0));
  Value* result = n.uadd(n.uand(fraction, n.word((1ull << 52) - 1)), n.shift_left(field, n.word(52)));
  ir.CreateRet(n.from_bits(n.uor(n.uselect(n.ueq(remainder, n.word(0)), n.word(0), result), sign)));
}

}  // namespace

void define_gpu_functions(llvm::Module& module) {
  define_rare(module, AllRareFunctions{});
  define_fmod(module);
}

}  // namespace md
