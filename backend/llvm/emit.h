// Loop nest + schedule -> LLVM IR. The function made has the type
//   i64 kernel(ptr buffers, ptr params, i64 row_begin, i64 row_end, i64 col_begin, i64 col_end)
// and returns 0, or 1 if an op of the body failed (integer division by zero). Any split of rows, and of columns if no
// reduction folds them, gives the same result.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <span>
#include <vector>

#include "backend/machine/target.h"
#include "backend/nest/schedule.h"

namespace md {

inline constexpr const char* kKernelName = "kernel";

// Adds the function kKernelName to a module prepared for `target`. Throws InternalError where a body and its dtype do
// not go together.
void emit_kernel(llvm::Module& module, const LoopNest& nest, const Schedule& schedule, const Target& target);

// What `params` holds, in order: extents of the inner row loops, of the folded loop, then each dynamic stride.
std::vector<Size> kernel_params(const LoopNest& nest, const Schedule& schedule);
// The same for any loops: extents of the inner row loops and, if asked for, of the folded one; strides that are not 0
// nor, along the columns, known; sizes that bodies use.
std::vector<Size> loop_params(const LoopNest& nest, const std::vector<Loop>& rows, const Loop& folded, const Loop& cols,
                              bool folded_extent);

enum class StrideKind : std::uint8_t { Zero, One, Two, Dynamic };
StrideKind stride_kind(Size stride);

// --- Bodies (emit_body.cpp)

// Where instructions go, what for, and how wide they are.
struct Emit {
  llvm::IRBuilder<>& ir;
  const Target& target;
  int lanes;
};
// Register type of a dtype: its working dtype; bool is i1. The value in it is one of the dtype itself.
llvm::Type* register_type(llvm::LLVMContext& c, DType t, int lanes);
llvm::Value* emit_constant(const Emit& e, const NestValue& v);
llvm::Value* emit_convert(const Emit& e, llvm::Value* v, DType from, DType to);
// The body of a pointwise op on operands already in the compute dtype (masks where the op asks for them). `failed`, if
// the op can fail, receives a mask of failing lanes, else null.
llvm::Value* emit_compute(const Emit& e, const NestValue& v, std::span<llvm::Value* const> args, llvm::Value** failed);
llvm::Value* emit_identity(const Emit& e, const NestValue& reduce);
llvm::Value* emit_combine(const Emit& e, const NestValue& reduce, llvm::Value* a, llvm::Value* b);

// Memory: bool is a byte. Without a stride it is 1; `aligned`: bytes, if more is known than that elements are.
llvm::Value* emit_load(const Emit& e, DType t, llvm::Value* pointer, llvm::Value* stride, std::uint64_t aligned = 0);
void emit_store(const Emit& e, DType t, llvm::Value* v, llvm::Value* pointer, llvm::Value* stride,
                std::uint64_t aligned = 0);
// The element that the lowest bits of a 64-bit word are.
llvm::Value* emit_from_word(const Emit& e, DType t, llvm::Value* word);
// first[0], second[0], first[1], ... from `pointer` on.
void emit_store_pairs(const Emit& e, DType t, llvm::Value* first, llvm::Value* second, llvm::Value* pointer);

}  // namespace md
