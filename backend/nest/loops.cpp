// Which axes may be walked as one, and in which order.
#include "backend/nest/loops.h"

#include <algorithm>

namespace md {
namespace {

bool is_reduced(const LoopNest& nest, int axis) { return (nest.reduced >> axis) & 1; }

// For every tensor, one step of `outer` is a whole walk along `inner`.
bool collapses(const LoopNest& nest, int outer, int inner) {
  const auto fits = [&](const Access& a) {
    return a.strides[static_cast<std::size_t>(outer)] ==
           a.strides[static_cast<std::size_t>(inner)] * nest.extents[static_cast<std::size_t>(inner)];
  };
  return std::all_of(nest.accesses.begin(), nest.accesses.end(), fits) &&
         std::all_of(nest.stores.begin(), nest.stores.end(), [&](const Store& s) { return fits(s.to); });
}

std::vector<Loop> collapse(const LoopNest& nest, const std::vector<int>& axes) {
  std::vector<Loop> loops;
  for (int axis : axes) {
    if (!loops.empty() && collapses(nest, loops.back().axes.back(), axis)) {
      loops.back().axes.push_back(axis);
    } else {
      loops.emplace_back();
      loops.back().axes.push_back(axis);
    }
  }
  return loops;
}

// Slowest first in memory, by the first tensor that tells two axes apart: results before operands.
bool slower(const LoopNest& nest, int a, int b) {
  const auto decide = [&](const Access& t) {
    const Size sa = t.strides[static_cast<std::size_t>(a)], sb = t.strides[static_cast<std::size_t>(b)];
    if (!sa.is_const() || !sb.is_const() || sa.is_const(0) || sb.is_const(0)) return 0;
    return sa.value() > sb.value() ? 1 : sa.value() < sb.value() ? -1 : 0;
  };
  for (const Store& s : nest.stores)
    if (const int d = decide(s.to)) return d > 0;
  for (const Access& t : nest.accesses)
    if (const int d = decide(t)) return d > 0;
  return a < b;
}

std::vector<int> axes_of(const LoopNest& nest, bool reduced) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(nest.extents.size()); ++i)
    if (!nest.extents[static_cast<std::size_t>(i)].is_const(1) && is_reduced(nest, i) == reduced) axes.push_back(i);
  if (reduced) return axes;
  // An insertion sort: `slower` need not be a strict weak order for odd strides, and must not confuse a library sort.
  for (std::size_t i = 1; i < axes.size(); ++i)
    for (std::size_t j = i; j > 0 && slower(nest, axes[j], axes[j - 1]) && !slower(nest, axes[j - 1], axes[j]); --j)
      std::swap(axes[j], axes[j - 1]);
  return axes;
}

}  // namespace

std::vector<Loop> kept_loops(const LoopNest& nest) { return collapse(nest, axes_of(nest, false)); }
std::vector<Loop> folded_loops(const LoopNest& nest) { return collapse(nest, axes_of(nest, true)); }

Size extent(const LoopNest& nest, const Loop& loop) {
  Size n = 1;
  for (int a : loop.axes) n = n * nest.extents[static_cast<std::size_t>(a)];
  return n;
}

Size stride(const Access& access, const Loop& loop) {
  return loop.axes.empty() ? Size(0) : access.strides[static_cast<std::size_t>(loop.axes.back())];
}

}  // namespace md
