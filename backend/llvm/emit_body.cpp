// Bodies of ops, conversions between dtypes, and what lies between memory and registers.
#include <cmath>

#include "backend/llvm/emit.h"
#include "backend/llvm/llvm_builder.h"
#include "ir/core/error.h"
#include "ir/graph/op_visit.h"
#include "registry/half.h"

namespace md {
namespace {

using llvm::Value;

// Calls f with the builder a dtype computes with; Bool computes in masks, for which any builder will do.
template <class F>
Value* with_builder(const Emit& e, DType t, F&& f) {
  switch (working(t)) {
    case DType::Float32: {
      LlvmBuilder<float> b(e.ir, e.target, e.lanes);
      return f(b);
    }
    case DType::Float64: {
      LlvmBuilder<double> b(e.ir, e.target, e.lanes);
      return f(b);
    }
    case DType::Int32: {
      LlvmBuilder<std::int32_t> b(e.ir, e.target, e.lanes);
      return f(b);
    }
    case DType::Int64: {
      LlvmBuilder<std::int64_t> b(e.ir, e.target, e.lanes);
      return f(b);
    }
    default:
      throw InternalError("no compiled arithmetic in " + std::string(info(t).name));
  }
}

template <class O, bool kMasks, class B>
Value* apply(B& b, std::span<Value* const> a) {
  using V = typename B::V;
  using M = typename B::M;
  constexpr bool kSelect = O::decl.promote == Promote::Select;
  const auto operand = [&](auto index) {
    if constexpr (kMasks || (kSelect && index.value == 0))
      return M{a[index.value]};
    else
      return V{a[index.value]};
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return apply_body<O, kMasks>(b, operand(std::integral_constant<std::size_t, i>{})...).v;
  }(std::make_index_sequence<arity<O>>{});
}

template <class O, bool kMasks, class B>
Value* apply_fails(B& b, std::span<Value* const> a) {
  if constexpr (!kMasks && B::kInteger && requires(B& x, typename B::V v) { O::fails_int(x, v, v); }) {
    return O::fails_int(b, {a[0]}, {a[1]}).v;
  }
  return nullptr;
}

template <class O>
Value* emit_pointwise(const Emit& e, DType compute, std::span<Value* const> args, Value** failed) {
  if (static_cast<int>(args.size()) != arity<O>)
    throw InternalError("wrong number of operands for " + std::string(O::decl.name));
  if (compute == DType::Bool) {
    if constexpr (computes_in<O>(DTypeCategory::Bool)) {
      LlvmBuilder<std::int32_t> b(e.ir, e.target, e.lanes);
      return apply<O, true>(b, args);
    }
  } else {
    return with_builder(e, compute, [&]<class B>(B& b) -> Value* {
      if constexpr (computes_in<O>(B::kInteger ? DTypeCategory::Integral : DTypeCategory::Floating)) {
        *failed = apply_fails<O, false>(b, args);
        return apply<O, false>(b, args);
      } else {
        throw InternalError(std::string(O::decl.name) + " has no body for this dtype");
      }
    });
  }
  throw InternalError(std::string(O::decl.name) + " has no body for bool");
}

template <class O>
Value* combine(const Emit& e, DType t, Value* x, Value* y) {
  if (t == DType::Bool) {
    if constexpr (probe::CombinesBool<O>) {
      LlvmBuilder<std::int32_t> b(e.ir, e.target, e.lanes);
      return O::combine_bool(b, {x}, {y}).v;
    }
  } else if constexpr (probe::Combines<O>) {
    return with_builder(e, t, [&](auto& b) -> Value* { return O::combine(b, {x}, {y}).v; });
  }
  throw InternalError(std::string(O::decl.name) + " has no combiner for this dtype");
}

template <class O>
Value* identity(const Emit& e, DType t) {
  if (t == DType::Bool) {
    if constexpr (probe::CombinesBool<O>) {
      LlvmBuilder<std::int32_t> b(e.ir, e.target, e.lanes);
      return O::identity_bool(b).v;
    }
  } else if constexpr (probe::Combines<O>) {
    return with_builder(e, t, [&](auto& b) -> Value* { return O::identity(b).v; });
  }
  throw InternalError(std::string(O::decl.name) + " has no identity for this dtype");
}

// Float to integer, toward zero; what does not fit (NaN included) becomes the smallest integer.
Value* float_to_int(const Emit& e, Value* v, DType from, DType to) {
  const unsigned bits = static_cast<unsigned>(item_size(to) * 8);
  llvm::Type* type = register_type(e.ir.getContext(), to, e.lanes);
  const double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
  // Truncation first, so that the bounds are exact in the source format.
  Value* whole = e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v);
  Value* low = e.ir.CreateFCmpOGE(whole, llvm::ConstantFP::get(v->getType(), -limit));
  Value* high = e.ir.CreateFCmpOLT(whole, llvm::ConstantFP::get(v->getType(), limit));
  Value* smallest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
  return e.ir.CreateSelect(e.ir.CreateAnd(low, high), e.ir.CreateFPToSI(whole, type), smallest);
}

// Between dtypes that bodies compute in.
Value* convert_working(const Emit& e, Value* v, DType from, DType to) {
  if (from == to) return v;
  llvm::Type* type = register_type(e.ir.getContext(), to, e.lanes);
  const bool from_float = is_floating(from), to_float = is_floating(to);
  if (to == DType::Bool) {
    Value* zero = llvm::Constant::getNullValue(v->getType());
    return from_float ? e.ir.CreateFCmpUNE(v, zero) : e.ir.CreateICmpNE(v, zero);
  }
  if (from_float && to_float) return e.ir.CreateFPCast(v, type);
  if (from_float) return float_to_int(e, v, from, to);
  if (to_float) return from == DType::Bool ? e.ir.CreateUIToFP(v, type) : e.ir.CreateSIToFP(v, type);
  return e.ir.CreateIntCast(v, type, from != DType::Bool);
}

// --- Halves and small integers: between memory and the registers of the working dtype -------------------------------

llvm::Type* lanes_of_bits(const Emit& e, unsigned bits) { return lanes_of(e.ir.getIntNTy(bits), e.lanes); }
llvm::Type* float_lanes(const Emit& e) { return lanes_of(e.ir.getFloatTy(), e.lanes); }
llvm::Type* half_lanes(const Emit& e) { return lanes_of(e.ir.getHalfTy(), e.lanes); }

// The bits of float16 elements as float32. Without the machine's conversion: the exponent moves, a product
// renormalises.
Value* widen_float16(const Emit& e, Value* bits) {
  if (e.target.half_moves) return e.ir.CreateFPExt(e.ir.CreateBitCast(bits, half_lanes(e)), float_lanes(e));
  LlvmBuilder<float> b(e.ir, e.target, e.lanes);
  using I = LlvmBuilder<float>::I;
  const I wide{e.ir.CreateZExt(bits, lanes_of_bits(e, 32))};
  const I magnitude = b.ishl(b.iand(wide, b.iconst(0x7fff)), 13);
  I moved = b.as_bits(b.mul(b.from_bits(magnitude), b.constant(0x1p112)));
  const I special = b.iconst(0x7f800000), quiet = b.iconst(0x00400000), limit = b.iconst(0x0f800000);
  moved = b.iselect(b.ilt(magnitude, limit), moved, b.ior(moved, special));
  moved = b.iselect(b.ilt(limit, magnitude), b.ior(moved, quiet), moved);
  return b.from_bits(b.ior(moved, b.ishl(b.iand(wide, b.iconst(0x8000)), 16))).v;
}

// The bits of float32 values that float16 holds exactly (or of NaN).
Value* narrow_float16(const Emit& e, Value* v) {
  if (e.target.half_moves) return e.ir.CreateBitCast(e.ir.CreateFPTrunc(v, half_lanes(e)), lanes_of_bits(e, 16));
  LlvmBuilder<float> b(e.ir, e.target, e.lanes);
  using I = LlvmBuilder<float>::I;
  const auto magnitude = b.abs({v});
  const I bits = b.as_bits(magnitude);
  const I normal = b.ishr(b.isub(bits, b.iconst(112 << 23)), 13);
  const I subnormal = b.isub(b.as_bits(b.add(magnitude, b.constant(0.5))), b.iconst(0x3f000000));
  const I special = b.ior(b.iconst(0x7c00), b.iand(b.ishr(bits, 13), b.iconst(0x3ff)));
  I h = b.iselect(b.lt(magnitude, b.constant(0x1p-14)), subnormal, normal);
  h = b.iselect(b.ilt(bits, b.iconst(0x47800000)), h, special);
  h = b.iselect(b.ne({v}, {v}), b.ior(h, b.iconst(0x200)), h);
  h = b.ior(h, b.iand(b.ishr(b.as_bits({v}), 16), b.iconst(0x8000)));
  return e.ir.CreateTrunc(h.v, lanes_of_bits(e, 16));
}

// A value of the working dtype brought into `t`: rounded or wrapped.
Value* into_range(const Emit& e, Value* v, DType t) {
  if (working(t) == t) return v;
  if (t == DType::Float16 && e.target.half_moves)
    return e.ir.CreateFPExt(e.ir.CreateFPTrunc(v, half_lanes(e)), float_lanes(e));
  if (is_half(t)) {
    LlvmBuilder<float> b(e.ir, e.target, e.lanes);
    return t == DType::Float16 ? round_to_float16(b, {v}).v : round_to_bfloat16(b, {v}).v;
  }
  Value* low = e.ir.CreateTrunc(v, lanes_of_bits(e, static_cast<unsigned>(item_size(t) * 8)));
  return e.ir.CreateIntCast(low, v->getType(), is_signed(t));
}

Value* from_memory(const Emit& e, DType t, Value* v) {
  if (t == DType::Bool) return e.ir.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  if (working(t) == t) return v;
  if (t == DType::Float16) return widen_float16(e, v);
  llvm::Type* wide = lanes_of_bits(e, 32);
  if (t == DType::BFloat16) return e.ir.CreateBitCast(e.ir.CreateShl(e.ir.CreateZExt(v, wide), 16), float_lanes(e));
  return e.ir.CreateIntCast(v, wide, is_signed(t));
}

Value* into_memory(const Emit& e, DType t, Value* v) {
  llvm::Type* type = lanes_of(element_type(e.ir.getContext(), t), e.lanes);
  if (t == DType::Bool) return e.ir.CreateZExt(v, type);
  if (working(t) == t) return v;
  if (t == DType::Float16) return narrow_float16(e, v);
  if (t == DType::BFloat16) v = e.ir.CreateLShr(e.ir.CreateBitCast(v, lanes_of_bits(e, 32)), 16);
  return e.ir.CreateTrunc(v, type);
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& c, DType t, int lanes) {
  return lanes_of(t == DType::Bool ? llvm::Type::getInt1Ty(c) : element_type(c, working(t)), lanes);
}

Value* emit_constant(const Emit& e, const NestValue& v) {
  llvm::Type* type = register_type(e.ir.getContext(), v.dtype, e.lanes);
  if (is_floating(v.dtype)) return llvm::ConstantFP::get(type, v.number);
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(v.integer), true);
}

Value* emit_convert(const Emit& e, Value* v, DType from, DType to) {
  if (from == to) return v;
  return into_range(e, convert_working(e, v, working(from), working(to)), to);
}

Value* emit_compute(const Emit& e, const NestValue& v, std::span<Value* const> args, Value** failed) {
  *failed = nullptr;
  return visit_op(v.op, [&]<class O>(O) -> Value* {
    if constexpr (O::decl.kind == OpKind::Pointwise) {
      Value* result = emit_pointwise<O>(e, v.compute, args, failed);
      return v.dtype == DType::Bool ? result : into_range(e, result, v.compute);
    } else
      throw InternalError(std::string(O::decl.name) + " has no pointwise body");
  });
}

Value* emit_combine(const Emit& e, const NestValue& reduce, Value* a, Value* b) {
  return visit_op(reduce.op, [&]<class O>(O) -> Value* {
    if constexpr (O::decl.kind == OpKind::Reduction)
      return combine<O>(e, reduce.dtype, a, b);
    else
      throw InternalError(std::string(O::decl.name) + " is not a reduction");
  });
}

Value* emit_identity(const Emit& e, const NestValue& reduce) {
  return visit_op(reduce.op, [&]<class O>(O) -> Value* {
    if constexpr (O::decl.kind == OpKind::Reduction)
      return identity<O>(e, reduce.dtype);
    else
      throw InternalError(std::string(O::decl.name) + " is not a reduction");
  });
}

namespace {

bool is_two(Value* stride) {
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(stride);
  return known && known->equalsInt(2);
}

// A mask of twice as many elements as there are lanes.
template <class F>
Value* double_mask(const Emit& e, F&& is_meant) {
  llvm::SmallVector<llvm::Constant*, 128> mask;
  for (int i = 0; i < 2 * e.lanes; ++i) mask.push_back(e.ir.getInt1(is_meant(i)));
  return llvm::ConstantVector::get(mask);
}

// Every other element: all are loaded but the one behind the last, which need not be there.
Value* load_every_other(const Emit& e, llvm::Type* element, Value* pointer, llvm::Align align) {
  llvm::Type* wide = lanes_of(element, 2 * e.lanes);
  Value* all = e.ir.CreateMaskedLoad(wide, pointer, align, double_mask(e, [&](int i) { return i + 1 < 2 * e.lanes; }),
                                     llvm::Constant::getNullValue(wide));
  llvm::SmallVector<int, 64> chosen;
  for (int i = 0; i < e.lanes; ++i) chosen.push_back(2 * i);
  return e.ir.CreateShuffleVector(all, chosen);
}

// a[0], b[0], a[1], ...
Value* interleaved(const Emit& e, Value* a, Value* b) {
  llvm::SmallVector<int, 64> chosen;
  for (int i = 0; i < e.lanes; ++i) chosen.push_back(i), chosen.push_back(i + e.lanes);
  return e.ir.CreateShuffleVector(a, b, chosen);
}

}  // namespace

Value* emit_load(const Emit& e, DType t, Value* pointer, Value* stride, std::uint64_t aligned) {
  llvm::Type* element = element_type(e.ir.getContext(), t);
  const llvm::Align align(aligned ? aligned : item_size(t));
  Value* v;
  if (e.lanes > 1 && is_two(stride)) {
    v = load_every_other(e, element, pointer, align);
  } else if (stride && e.lanes > 1) {
    llvm::SmallVector<llvm::Constant*, 64> lane;
    for (int i = 0; i < e.lanes; ++i) lane.push_back(e.ir.getInt64(static_cast<std::uint64_t>(i)));
    Value* steps =
        e.ir.CreateMul(llvm::ConstantVector::get(lane), e.ir.CreateVectorSplat(static_cast<unsigned>(e.lanes), stride));
    v = e.ir.CreateMaskedGather(lanes_of(element, e.lanes), e.ir.CreateGEP(element, pointer, steps), align);
  } else {
    v = e.ir.CreateAlignedLoad(lanes_of(element, e.lanes), pointer, align);
  }
  return from_memory(e, t, v);
}

Value* emit_from_word(const Emit& e, DType t, Value* word) {
  constexpr unsigned kByte = 8;
  Value* bits = e.ir.CreateTrunc(word, e.ir.getIntNTy(static_cast<unsigned>(item_size(t)) * kByte));
  return from_memory(e, t, e.ir.CreateBitCast(bits, element_type(e.ir.getContext(), t)));
}

void emit_store(const Emit& e, DType t, Value* v, Value* pointer, Value* stride, std::uint64_t aligned) {
  llvm::Type* element = element_type(e.ir.getContext(), t);
  const llvm::Align align(aligned ? aligned : item_size(t));
  v = into_memory(e, t, v);
  if (!stride || e.lanes == 1) {
    e.ir.CreateAlignedStore(v, pointer, align);
    return;
  }
  if (is_two(stride)) {
    e.ir.CreateMaskedStore(interleaved(e, v, v), pointer, align, double_mask(e, [](int i) { return i % 2 == 0; }));
    return;
  }
  for (int i = 0; i < e.lanes; ++i) {
    Value* offset = e.ir.CreateMul(stride, e.ir.getInt64(static_cast<std::uint64_t>(i)));
    e.ir.CreateAlignedStore(e.ir.CreateExtractElement(v, static_cast<std::uint64_t>(i)),
                            e.ir.CreateGEP(element, pointer, offset), align);
  }
}

void emit_store_pairs(const Emit& e, DType t, Value* first, Value* second, Value* pointer) {
  Value* both = interleaved(e, into_memory(e, t, first), into_memory(e, t, second));
  e.ir.CreateAlignedStore(both, pointer, llvm::Align(item_size(t)));
}

}  // namespace md
