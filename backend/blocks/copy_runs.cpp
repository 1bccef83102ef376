// Copies by short runs: strips of neighbouring runs are read together.
#include "backend/blocks/copy_runs.h"

#include <algorithm>

#include "backend/machine/thread_pool.h"

namespace md::blocks {

namespace {

constexpr std::int64_t kLongRun = 128;        // bytes: a run of two cache lines costs no more than its memory
constexpr std::int64_t kRuns = 8;             // read one after the other, written to as many places
constexpr std::int64_t kLeastRead = 1 << 16;  // bytes worth a task of their own

template <class T>
void copy_one(const char* from, char* to, std::int64_t n) {
  const auto* in = reinterpret_cast<const T*>(from);
  auto* out = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = in[i];
}

void copy_one(const char* from, char* to, std::int64_t n, std::int64_t item) {
  return item == 8   ? copy_one<std::uint64_t>(from, to, n)
         : item == 4 ? copy_one<std::uint32_t>(from, to, n)
         : item == 2 ? copy_one<std::uint16_t>(from, to, n)
                     : copy_one<std::uint8_t>(from, to, n);
}

}  // namespace

bool copy_runs(const Axes& axes, const char* from, char* to, std::int64_t item) {
  if (axes.size() < 3 || product(axes) == 0) return false;
  const Axis run = axes.back(), along = axes[axes.size() - 2];
  if (run.stride[0] != item || run.stride[1] != item || run.size * item > kLongRun) return false;
  std::size_t near = axes.size();
  for (std::size_t d = 0; d + 2 < axes.size(); ++d)
    if (axes[d].size >= kRuns / 2 && axes[d].stride[1] != 0 && axes[d].stride[1] * 4 <= along.stride[1]) near = d;
  if (near == axes.size()) return false;
  const Axis down = axes[near];
  Axes outer = axes;
  outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(near));
  outer.pop_back(), outer.pop_back();
  const std::int64_t strips = (down.size + kRuns - 1) / kRuns;
  const std::int64_t strip = kRuns * along.size * run.size * item;
  parallel_for(product(outer) * strips, std::max<std::int64_t>(1, kLeastRead / strip),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const Walker corner(outer, 2, unit / strips);
                   const std::int64_t first = unit % strips * kRuns, last = std::min(first + kRuns, down.size);
                   for (std::int64_t j = 0; j < along.size; ++j)
                     for (std::int64_t i = first; i < last; ++i)
                       copy_one(from + corner.offset(1) + j * along.stride[1] + i * down.stride[1],
                                to + corner.offset(0) + j * along.stride[0] + i * down.stride[0], run.size, item);
                 }
               });
  return true;
}

}  // namespace md::blocks
