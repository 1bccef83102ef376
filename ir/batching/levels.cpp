// One stack of transforms per thread.
#include "ir/batching/levels.h"

#include <algorithm>
#include <ranges>

#include "ir/core/error.h"

namespace md {

namespace {
constinit thread_local std::vector<TransformLevel> levels;
}  // namespace

std::span<const TransformLevel> transform_levels() { return levels; }

const TransformLevel* find_level(std::uint32_t number) {
  const auto at = std::ranges::find(levels, number, &TransformLevel::number);
  return at == levels.end() ? nullptr : &*at;
}

std::vector<std::uint32_t> vmap_levels() {
  std::vector<std::uint32_t> out;
  for (const TransformLevel& l : levels)
    if (l.is_vmap) out.push_back(l.number);
  return out;
}

std::uint32_t begin_transform(TransformLevel level) {
  level.number = transforms_begun.fetch_add(1, std::memory_order_relaxed) + 1;
  levels.push_back(level);
  transforms_in_use.fetch_add(1, std::memory_order_relaxed);
  return level.number;
}

void end_transform(std::uint32_t number) {
  if (!find_level(number)) return;
  while (!levels.empty() && levels.back().number >= number) {
    levels.pop_back();
    transforms_in_use.fetch_sub(1, std::memory_order_relaxed);
  }
}

void check_captured_write(std::uint32_t made_after, const std::string& name) {
  for (const TransformLevel& l : levels | std::views::reverse) {
    if (!l.asks_gradients()) continue;
    if (made_after >= l.number) return;
    throw OpError(ErrorKind::Runtime,
                  name +
                      "_(): a function whose gradients are asked for (by grad, vjp, jvp, ...) may not write in place "
                      "to a tensor it captured: pass the tensor as an argument, or compute a new one");
  }
}

}  // namespace md
