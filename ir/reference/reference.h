// What the files of the reference engine share. A kernel is `void reference_kernel(ops::X, const KernelCall&)`.
#pragma once

#include <span>

#include "ir/core/scalar_builder.h"
#include "ir/graph/graph.h"
#include "ir/tensor/strided.h"

namespace md {

struct KernelCall {
  const Op& op;
  std::span<const Arg> args;
  std::span<const TensorRef> out;

  const TensorImpl& tensor(int i) const { return *args[static_cast<std::size_t>(i)].get<TensorRef>(); }
};

// Body and combiner tables, one function per (op, working dtype of the compute dtype). Values lie in memory as the
// working dtype; whoever stores them brings them back into the compute dtype.
// Computes n elements; false if the op failed on one of them.
using BodyFn = bool (*)(const void* const* in, void* out, std::int64_t n);
BodyFn reference_body(OpId id, DType compute);
std::string_view failure_of(OpId id);
// Folds n values in the defined order with `lanes` lanes.
using FoldFn = void (*)(const void* values, std::int64_t n, int lanes, void* out);
FoldFn reference_fold(OpId id, DType compute);
// Position of the winner among n > 0 values.
using FindFn = std::int64_t (*)(const void* values, std::int64_t n);
FindFn reference_find(OpId id, DType compute);

// n elements of `t` from the cursor on, converted to `compute`, as values of its working dtype.
void gather(const TensorImpl& t, ElementCursor& at, std::int64_t n, DType compute, void* out);
// n values of the working dtype of `from` into `t` from the cursor on: brought into `from`, then converted.
void scatter(const void* values, DType from, std::int64_t n, const TensorImpl& t, ElementCursor& at);
// A number converted to `compute`, as a value of its working dtype.
void number_element(const Arg& number, DType compute, void* out);

}  // namespace md
