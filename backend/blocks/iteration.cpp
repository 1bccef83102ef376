// How tensors of any strides are walked: axes merged, ordered and cut into rows that kernels take.
#include "backend/blocks/iteration.h"

#include <algorithm>
#include <cstring>

namespace md::blocks {

namespace {

std::int64_t magnitude(std::int64_t v) { return v < 0 ? -v : v; }

// Calls f with a value of the unsigned type of that many bytes.
template <class F>
void with_item(std::int64_t item, F&& f) {
  switch (item) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

// n copies of one element: some stored from a register, the others by copying what is there already, since memcpy knows
// the machine's widest stores. Copying fewer would wait for the stores before.
template <class T>
void repeat(T value, std::int64_t n, T* to) {
  typedef T Vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
  constexpr std::int64_t kLanes = 16 / sizeof(T), kSeed = 32 * kLanes;
  const Vector all = Vector{} + value;
  std::int64_t have = 0;
  for (; have + kLanes <= std::min(n, kSeed); have += kLanes) *reinterpret_cast<Vector*>(to + have) = all;
  if (have < kSeed) return void(std::fill_n(to + have, n - have, value));
  for (; have < n; have *= 2) {
    std::memcpy(to + have, to, static_cast<std::size_t>(std::min(have, n - have)) * sizeof(T));
  }
}

// One run of equally spaced elements.
template <class T>
void read_run(const char* from, std::int64_t stride, std::int64_t n, T* to) {
  if (stride == sizeof(T)) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    repeat(*reinterpret_cast<const T*>(from), n, to);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = *reinterpret_cast<const T*>(from + i * stride);
  }
}
template <class T>
void write_run(char* to, std::int64_t stride, std::int64_t n, const T* from) {
  if (stride == sizeof(T)) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = from[i];
  }
}

// Calls f(offset, stride, done, n) for every run of operand k in `count` elements from `start` on.
template <class F>
void for_each_run(const Axes& axes, int k, std::int64_t start, std::int64_t count, F&& f) {
  Walker w(axes, k + 1, start);
  const std::int64_t stride = axes.empty() ? 0 : axes.back().stride[k];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = std::min(count - done, w.left());
    f(w.offset(k), stride, done, n);
    w.advance(n);
    done += n;
  }
}

}  // namespace

Axes make_axes(const DimVec& sizes, std::span<TensorImpl* const> operands) {
  Axes axes(sizes.size(), Axis{});
  for (std::size_t d = 0; d < sizes.size(); ++d) axes[d].size = sizes[d];
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const TensorImpl& t = *operands[k];
    const std::size_t shift = sizes.size() - t.sizes.size();
    const auto item = static_cast<std::int64_t>(item_size(t.dtype));
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
      axes[d + shift].stride[k] = t.sizes[d] == 1 ? 0 : t.strides[d] * item;
    }
  }
  return axes;
}

void merge(Axes& axes, int operands) {
  Axes merged;
  for (const Axis& a : axes) {
    if (a.size == 1) continue;
    bool fits = !merged.empty();
    for (int k = 0; fits && k < operands; ++k) fits = merged.back().stride[k] == a.stride[k] * a.size;
    if (!fits) {
      merged.push_back(a);
      continue;
    }
    const std::int64_t size = merged.back().size * a.size;
    merged.back() = a;
    merged.back().size = size;
  }
  axes = std::move(merged);
}

void simplify(Axes& axes, int operands) {
  Axes kept;
  for (const Axis& a : axes) {
    if (a.size != 1) kept.push_back(a);
  }
  axes = std::move(kept);
  // Insertion sort: few axes, mostly in order. Stable, so that equal strides keep their order.
  for (std::size_t i = 1; i < axes.size(); ++i) {
    for (std::size_t j = i; j > 0 && magnitude(axes[j - 1].stride[0]) < magnitude(axes[j].stride[0]); --j) {
      std::swap(axes[j - 1], axes[j]);
    }
  }
  merge(axes, operands);
}

std::int64_t product(const Axes& axes) {
  std::int64_t n = 1;
  for (const Axis& a : axes) n *= a.size;
  return n;
}

bool is_dense(const Axes& axes, int k, std::int64_t item) {
  for (std::size_t d = axes.size(); d-- > 0;) {
    if (axes[d].stride[k] != item) return false;
    item *= axes[d].size;
  }
  return true;
}

Walker::Walker(const Axes& axes, int operands, std::int64_t linear)
    : axes_(&axes), operands_(operands), at_(axes.size()), offset_{} {
  for (std::size_t d = axes.size(); d-- > 0;) {
    at_[d] = linear % axes[d].size;
    linear /= axes[d].size;
    for (int k = 0; k < operands; ++k) offset_[k] += at_[d] * axes[d].stride[k];
  }
}

void Walker::advance(std::int64_t n) {
  for (std::size_t d = axes_->size(); d-- > 0;) {
    const Axis& a = (*axes_)[d];
    at_[d] += n;
    for (int k = 0; k < operands_; ++k) offset_[k] += n * a.stride[k];
    if (at_[d] < a.size) return;
    for (int k = 0; k < operands_; ++k) offset_[k] -= a.size * a.stride[k];
    at_[d] = 0;
    n = 1;
  }
}

void gather(const Axes& axes, int k, const char* base, std::int64_t item, std::int64_t start, std::int64_t count,
            void* block) {
  with_item(item, [&](auto unit) {
    auto* to = static_cast<decltype(unit)*>(block);
    for_each_run(axes, k, start, count,
                 [&](std::int64_t offset, std::int64_t stride, std::int64_t done, std::int64_t n) {
                   read_run(base + offset, stride, n, to + done);
                 });
  });
}

void scatter(const Axes& axes, int k, char* base, std::int64_t item, std::int64_t start, std::int64_t count,
             const void* block) {
  with_item(item, [&](auto unit) {
    const auto* from = static_cast<const decltype(unit)*>(block);
    for_each_run(axes, k, start, count,
                 [&](std::int64_t offset, std::int64_t stride, std::int64_t done, std::int64_t n) {
                   write_run(base + offset, stride, n, from + done);
                 });
  });
}

void gather_tile(const char* base, std::int64_t column_stride, std::int64_t rows, std::int64_t columns,
                 std::int64_t item, void* block) {
  with_item(item, [&](auto unit) {
    using T = decltype(unit);
    auto* const to = static_cast<T*>(block);
    const auto copy = [&](std::int64_t count) __attribute__((always_inline)) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto* from = reinterpret_cast<const T*>(base + j * column_stride);
        for (std::int64_t i = 0; i < count; ++i) to[i * kTileColumns + j] = from[i];
      }
    };
    rows == kTileRows ? copy(kTileRows) : copy(rows);
  });
}

void gather_run(const char* from, std::int64_t stride, std::int64_t item, std::int64_t n, void* to) {
  with_item(item, [&](auto unit) { read_run(from, stride, n, static_cast<decltype(unit)*>(to)); });
}

void scatter_run(char* to, std::int64_t stride, std::int64_t item, std::int64_t n, const void* from) {
  with_item(item, [&](auto unit) { write_run(to, stride, n, static_cast<const decltype(unit)*>(from)); });
}

void fill(const void* value, std::int64_t item, std::int64_t count, void* block) {
  with_item(item, [&](auto unit) {
    std::memcpy(&unit, value, sizeof unit);
    repeat(unit, count, static_cast<decltype(unit)*>(block));
  });
}

Extent extent(const TensorImpl& t) {
  const auto item = static_cast<std::int64_t>(item_size(t.dtype));
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    if (t.sizes[d] == 0) return {nullptr, nullptr};
    const std::int64_t reach = (t.sizes[d] - 1) * t.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto* data = static_cast<const char*>(t.data());
  return {data + low * item, data + (high + 1) * item};
}

}  // namespace md::blocks
