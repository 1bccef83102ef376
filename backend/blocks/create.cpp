// Tensors of one value; the other creation ops are the reference engine's.
#include "backend/blocks/engine.h"
#include "backend/blocks/iteration.h"
#include "backend/machine/thread_pool.h"
#include "ir/graph/op_visit.h"

namespace md::blocks {

namespace {

// The one value of the tensor an op creates; None if there is no such.
template <class O>
Arg fill_value(O, std::span<const Arg>) {
  return {};
}
Arg fill_value(ops::Zeros, std::span<const Arg>) { return 0; }
Arg fill_value(ops::Ones, std::span<const Arg>) { return 1; }
Arg fill_value(ops::Full, std::span<const Arg> args) { return args[1]; }
Arg fill_value(ops::FullLike, std::span<const Arg> args) { return args[1]; }

}  // namespace

bool run_create(const KernelTable& kernels, const Op& op, std::span<const Arg> args, TensorImpl& out) {
  const Arg value = visit_op(op.id, [&](auto o) { return fill_value(o, args); });
  if (!value.is_number()) return false;
  alignas(8) unsigned char converted[8];
  convert_number(kernels, value, out.dtype, converted);
  const auto item = static_cast<std::int64_t>(item_size(out.dtype));
  auto* const data = static_cast<char*>(out.data());  // dense, so the order does not matter
  parallel_for(out.numel(), kGrain,
               [&](std::int64_t begin, std::int64_t end) { fill(converted, item, end - begin, data + begin * item); });
  return true;
}

}  // namespace md::blocks
