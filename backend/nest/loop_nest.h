// What a group of fused nodes computes: an iteration space, how tensors are reached from it, and a pure body. Nothing
// about order, vectors or threads: that is a Schedule (backend/nest/schedule.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

using AxisMask = std::uint32_t;  // bit i: depends on axis i

// A tensor as seen from the iteration space.
struct Access {
  int buffer = 0;  // which pointer of the kernel
  DType dtype = DType::Float32;
  SizeVec strides;        // elements per step of each axis; constant 0: does not depend on it
  bool by_value = false;  // of a kernel for a GPU: it is handed the one element in the place of an address
};

// One value of the body, in SSA form: `args` are earlier values.
struct NestValue {
  enum class Kind : std::uint8_t {
    Load,      // element of accesses[access]
    Constant,  // `number` or `integer`, converted to dtype
    Size,      // a symbolic size, as int64
    Convert,   // args[0] in another dtype
    Compute,   // body of a pointwise op, run in `compute`
    Reduce,    // args[0] folded over the nest's reduced axes with the combiner of a reduction op
  };
  Kind kind = Kind::Load;
  DType dtype = DType::Float32;
  DType compute = DType::Float32;
  OpId op = kNoOp;
  int access = -1;
  double number = 0;
  std::int64_t integer = 0;
  md::Size size = 0;
  SmallVector<int, 4> args;
  AxisMask repeated = 0;  // axes along which it is computed again although its arguments stay the same
  AxisMask axes = 0;      // which axes the value varies over
  int stage = 0;          // how many reductions lie behind it, one after the other
};

struct Store {
  int value;
  Access to;
  bool second_of_pair = false;  // each element right behind the one that the store before this one writes
};

struct LoopNest {
  SizeVec extents;
  AxisMask reduced = 0;  // axes that Reduce folds, numbered in row-major order
  int fold_lanes = 0;    // lanes of that fold (registry/reduction_order.h); 1: the elements are folded chunks
  std::vector<Access> accesses;
  std::vector<NestValue> values;
  std::vector<Store> stores;
  int buffers = 0;

  int add(NestValue v);  // fills in axes and stage
  // Stores `value`. Along folded axes that only the tensor spans, a repetition of it: what is stored must vary as the
  // place does, or it would be written once after the fold.
  void store(int value, Access to);
  // Strides along axes of extent 1 do not matter and become 0.
  Access access(int buffer, DType dtype, SizeVec strides) const;
};

// What one walk along the loops of `loop_axes` does: the folds that end the stage, the stores, and the values of both.
struct StageWork {
  std::vector<int> reduces, stores, roots;
};
StageWork work_of_stage(const LoopNest& nest, int stage, AxisMask loop_axes);

// The size a graph was traced with; 0 where nothing is known before the run.
std::int64_t likely(Size s);

}  // namespace md
