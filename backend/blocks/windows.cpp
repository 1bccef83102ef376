// Pooling and resampling by planes. Max pooling has kernels of each level (kernel_table.h).
#include <algorithm>
#include <vector>

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

// --- Max pooling -----------------------------------------------------------------------------------------------------

constexpr std::int64_t kLaidOut = 1 << 12;    // elements of a patch, in the first-level cache
constexpr std::int64_t kMostPlane = 1 << 28;  // elements of a plane whose positions lanes of 32 bits hold

std::int64_t reach(const WindowDim& d) { return (d.kernel - 1) * d.dilation; }  // from a window's first to its last

struct PoolPlan {
  MaxPool p;
  std::int64_t planes = 1, in = 1, out = 1;  // elements of a plane
  std::int64_t rows = 1;                     // of results, of a patch
  std::vector<std::int64_t> offsets, places;
};

void place_elements(PoolPlan& plan) {
  MaxPool& p = plan.p;
  const auto& [d0, d1, d2] = p.dims;
  for (std::int64_t k0 = 0; k0 < d0.kernel; ++k0) {
    for (std::int64_t k1 = 0; k1 < d1.kernel; ++k1) {
      for (std::int64_t k2 = 0; k2 < d2.kernel; ++k2) {
        const std::int64_t row = k1 * d1.dilation, column = k2 * d2.dilation;
        const std::int64_t part = (k0 * p.row_remainders + row % d1.stride) * p.column_remainders + column % d2.stride;
        plan.offsets.push_back((part * p.rows + row / d1.stride) * p.pitch + column / d2.stride);
        plan.places.push_back((k0 * d0.dilation * d1.in + row) * d2.in + column);
      }
    }
  }
  p.elements = {static_cast<std::int64_t>(plan.offsets.size()), plan.offsets.data(), plan.places.data()};
}

// False if kernels cannot take it.
bool plan_pool(const KernelArgs& a, PoolPlan& plan) {
  const TensorImpl &x = a.tensor(0), &out = *a.out[0];
  const std::size_t n = a.args[1].get<ListArg>().items.size(), outer = x.sizes.size() - n;
  const auto number = [&](std::size_t arg, std::size_t i) {
    return a.args[arg].get<ListArg>().items[i].get<Size>().value();
  };
  for (std::size_t i = 0; i < outer; ++i) plan.planes *= x.sizes[i];
  MaxPool& p = plan.p;
  std::int64_t furthest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = p.dims[kMostWindowDims - n + i];
    d.in = x.sizes[outer + i], d.out = out.sizes[outer + i], d.kernel = number(1, i);
    d.stride = number(2, i), d.padding = number(3, i), d.dilation = number(4, i);
    plan.in *= d.in, plan.out *= d.out;
    if (d.in >= kMostPlane || reach(d) >= kMostPlane) return false;
    furthest = furthest * d.in + reach(d);
    if (plan.in >= kMostPlane || furthest >= kMostPlane) return false;
  }
  const auto& [d0, d1, d2] = p.dims;
  p.row_remainders = std::min(d1.stride, reach(d1) + 1), p.column_remainders = std::min(d2.stride, reach(d2) + 1);
  p.pitch = d2.out + reach(d2) / d2.stride;
  const std::int64_t laid_out_row = d0.kernel * p.row_remainders * p.column_remainders * p.pitch;
  const std::int64_t more_rows = reach(d1) / d1.stride;
  plan.rows = std::clamp<std::int64_t>(kLaidOut / std::max<std::int64_t>(laid_out_row, 1) - more_rows, 1,
                                       std::max<std::int64_t>(d1.out, 1));
  p.rows = plan.rows + more_rows;
  p.laid_out = laid_out_row * p.rows + kMaxPoolSlack;
  place_elements(plan);
  return true;
}

// Values are of the working dtype, also those of planes, which are copied there if their dtype is another.
class PoolTask {
 public:
  PoolTask(const KernelArgs& a, const PoolPlan& plan, const char* x)
      : a_(a),
        plan_(plan),
        dtype_(a.out[0]->dtype),
        kernel_(a.kernels.max_pool[compute_index(working(dtype_))]),
        item_(static_cast<std::int64_t>(item_size(working(dtype_)))),
        x_(x) {}

  void run(std::int64_t begin, std::int64_t end) const {
    const std::int64_t converted = dtype_ == working(dtype_) ? 0 : plan_.in + plan_.out;
    const Ref<Storage> room =
        allocate_storage(static_cast<std::size_t>((max_pool_workspace(plan_.p) + converted) * item_));
    auto* const workspace = static_cast<char*>(room->data());
    char* const wide = workspace + max_pool_workspace(plan_.p) * item_;
    const auto stored = static_cast<std::int64_t>(item_size(dtype_));
    for (std::int64_t i = begin; i < end; ++i) {
      const char* const x = x_ + i * plan_.in * stored;
      char* const out = static_cast<char*>(a_.out[0]->data()) + i * plan_.out * stored;
      if (!converted) {
        run_plane(i, x, out, workspace);
        continue;
      }
      const int t = static_cast<int>(dtype_);
      a_.kernels.widen[t](x, wide, plan_.in);
      run_plane(i, wide, wide + plan_.in * item_, workspace);
      a_.kernels.narrow[t](wide + plan_.in * item_, out, plan_.out);
    }
  }

 private:
  void run_plane(std::int64_t plane, const char* x, char* out, void* workspace) const {
    const auto& [d0, d1, d2] = plan_.p.dims;
    std::int64_t* const positions = a_.out.size() > 1 ? a_.out[1]->as<std::int64_t>() + plane * plan_.out : nullptr;
    for (std::int64_t frame = 0; frame < d0.out; ++frame) {
      for (std::int64_t row = 0; row < d1.out; row += plan_.rows) {
        const std::int64_t at = (frame * d1.out + row) * d2.out;
        kernel_(
            plan_.p,
            {x, out + at * item_, positions ? positions + at : nullptr, frame, row, std::min(plan_.rows, d1.out - row)},
            workspace);
      }
    }
  }

  const KernelArgs& a_;
  const PoolPlan& plan_;
  DType dtype_;
  MaxPoolKernel kernel_;
  std::int64_t item_;
  const char* x_;
};

template <class O>
bool max_pool(O op, const KernelArgs& a) {
  PoolPlan plan{};
  for (const TensorRef& t : a.out) {
    if (!t->is_contiguous()) return by_planes(op, a);
  }
  if (a.out[0]->numel() == 0) return true;
  if (a.out[0]->dtype == DType::Bool || !plan_pool(a, plan)) return by_planes(op, a);
  const TensorImpl& given = a.tensor(0);
  const TensorRef x = given.is_contiguous() ? TensorRef(const_cast<TensorImpl*>(&given)) : dense_copy(given);
  const PoolTask task(a, plan, static_cast<const char*>(x->data()));
  const std::int64_t least = std::max<std::int64_t>(1, kPlaneWork / std::max(plan.in, plan.out));
  parallel_for(plan.planes, least, [&](std::int64_t begin, std::int64_t end) { task.run(begin, end); });
  return true;
}

}  // namespace

bool run_op(ops::MaxPool o, const KernelArgs& c) { return max_pool(o, c); }
bool run_op(ops::MaxPoolValues o, const KernelArgs& c) { return max_pool(o, c); }
bool run_op(ops::AvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveMaxPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveAvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::Resample o, const KernelArgs& c) { return by_planes(o, c); }

}  // namespace md::blocks
