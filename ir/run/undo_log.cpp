// Keeps the bytes a write is about to change, each range once, and puts them and the tensors' layouts back.
#include "ir/run/undo_log.h"

#include <algorithm>
#include <ranges>

#include "ir/core/error.h"
#include "ir/run/read_set.h"
#include "ir/tensor/readable.h"

namespace md {

UndoLog::UndoLog() = default;

void UndoLog::before_write(const TensorRef& t) {
  if (own_.contains(t->storage.get())) return;
  ReadSet::validate();
  layouts_.push_back({t, t->sizes, t->strides, t->offset, t->storage->version});
  if (t->numel() == 0 || !t->has_memory()) return;
  const auto item = static_cast<std::int64_t>(item_size(t->dtype));
  auto* from = static_cast<char*>(t->data());
  char* to = from + item;
  for (std::size_t d = 0; d < t->sizes.size(); ++d) {
    const std::int64_t reach = (t->sizes[d] - 1) * t->strides[d] * item;
    (reach < 0 ? from : to) += reach;
  }
  keep(from, to, t->device());
}

bool UndoLog::knows(const Storage& s) const {
  return std::ranges::any_of(layouts_, [&](const Layout& l) { return l.tensor->storage.get() == &s; });
}

// Copies the parts of a range that no earlier write has kept.
void UndoLog::keep(char* from, char* to, Device device) {
  auto next = kept_.upper_bound(from);
  if (next != kept_.begin() && std::prev(next)->second > from) --next;
  char* at = from;
  const auto copy_until = [&](char* end) {
    if (end <= at) return;
    const auto count = static_cast<std::size_t>(end - at);
    auto before = std::make_unique_for_overwrite<char[]>(count);
    copy_bytes(before.get(), kCpu, at, device, count);
    bytes_.push_back({at, std::move(before), count, device});
  };
  char* lowest = from;
  char* highest = to;
  while (next != kept_.end() && next->first <= to) {
    copy_until(std::min(next->first, to));
    at = std::max(at, next->second);
    lowest = std::min(lowest, next->first);
    highest = std::max(highest, next->second);
    next = kept_.erase(next);
  }
  copy_until(to);
  kept_[lowest] = highest;
}

// A device that is lost has nothing to put back into.
static void put_back(char* at, Device device, const char* before, std::size_t count) noexcept {
  try {
    copy_bytes(at, device, before, kCpu, count);
  } catch (const OpError&) {
  }
}

void UndoLog::take_back() noexcept {
  for (const Bytes& b : bytes_) put_back(b.at, b.device, b.before.get(), b.count);
  for (Layout& l : std::views::reverse(layouts_)) {
    l.tensor->sizes = l.sizes;
    l.tensor->strides = l.strides;
    l.tensor->offset = l.offset;
    l.tensor->storage->version = l.version;
  }
  streams_.put_back();
}

}  // namespace md
