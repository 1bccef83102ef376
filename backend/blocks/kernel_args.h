// What the drivers of ops with a kernel of their own share. Each returns false if it leaves the call to the reference
// engine.
#pragma once

#include "backend/blocks/engine.h"
#include "registry/ops/convolution.h"
#include "registry/ops/indexing.h"
#include "registry/ops/special_functions.h"

namespace md::blocks {

struct KernelArgs {
  const KernelTable& kernels;
  const Op& op;
  std::span<const Arg> args;
  std::span<const TensorRef> out;
  const TensorImpl& tensor(int i) const { return *args[static_cast<std::size_t>(i)].get<TensorRef>(); }
};

// convolution.cpp
bool run_op(ops::Convolution, const KernelArgs& c);

// windows.cpp
bool run_op(ops::MaxPool, const KernelArgs& c);
bool run_op(ops::MaxPoolValues, const KernelArgs& c);
bool run_op(ops::AvgPool, const KernelArgs& c);
bool run_op(ops::AdaptiveMaxPool, const KernelArgs& c);
bool run_op(ops::AdaptiveAvgPool, const KernelArgs& c);
bool run_op(ops::Resample, const KernelArgs& c);

// scatter.cpp
bool run_op(ops::ScatterAdd, const KernelArgs& c);

// elements.cpp
bool run_op(ops::ErfInv, const KernelArgs& c);
bool run_op(ops::LGamma, const KernelArgs& c);
bool run_op(ops::Digamma, const KernelArgs& c);
bool run_op(ops::Gcd, const KernelArgs& c);
bool run_op(ops::Lcm, const KernelArgs& c);
bool run_op(ops::NextAfter, const KernelArgs& c);
#define MD_OP(S) bool run_op(ops::S, const KernelArgs& c);
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md::blocks
