// Pooling and resampling by planes.
#include <algorithm>

#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/infer/window_dim.h"
#include "ir/reference/window_kernels.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kPlaneWork = 1 << 14;  // elements worth a task of their own

template <class O>
bool by_planes(O op, const KernelArgs& a) {
  const KernelCall c{a.op, a.args, a.out};
  const std::int64_t planes = plane_count(c);
  const std::int64_t elements = std::max(c.tensor(0).numel(), a.out[0]->numel()) / std::max<std::int64_t>(planes, 1);
  const std::int64_t least = std::max<std::int64_t>(1, kPlaneWork / std::max<std::int64_t>(elements, 1));
  parallel_for(planes, least, [&](std::int64_t begin, std::int64_t end) { run_planes(op, c, begin, end); });
  return true;
}

}  // namespace

bool run_op(ops::MaxPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::MaxPoolValues o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveMaxPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveAvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::Resample o, const KernelArgs& c) { return by_planes(o, c); }

}  // namespace md::blocks
