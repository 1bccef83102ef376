// Values added at positions along the last dimension, row by row: what the gradient of max pooling does.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/core/scalar_builder.h"
#include "ir/tensor/strided.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kRowWork = 1 << 14;  // elements worth a task of their own

template <class T>
T sum_of(T x, T y) {
  using W = WorkingOf<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return x || y;
  } else {
    return narrow<T>(ScalarBuilder<W>().add(widen(x), widen(y)));
  }
}

// Dense rows: `size` elements of the result and `count` positions and values each.
struct Rows {
  std::int64_t rows = 1, size = 0, count = 0;
};

bool are_inside(const std::int64_t* positions, std::int64_t n, std::int64_t size) {
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  const std::uint64_t last = static_cast<std::uint64_t>(size) - 1;
  Pair found{};  // the upper bits tell whether a position, or its distance to the last one, is negative
  std::int64_t i = 0;
  for (; i + 2 <= n; i += 2) {
    Pair p;
    std::memcpy(&p, positions + i, sizeof p);
    found |= p | (last - p);
  }
  std::uint64_t all = found[0] | found[1];
  if (i < n) all |= static_cast<std::uint64_t>(positions[i]) | (last - static_cast<std::uint64_t>(positions[i]));
  return n == 0 || all >> 63 == 0;
}

// Rows of one value, copied from a piece of such a row: memcpy uses the vectors this file is not compiled for.
template <class T>
class Filled {
 public:
  Filled(T value, std::int64_t size) { std::fill_n(piece_, std::min(size, kMost), value); }
  void fill(T* to, std::int64_t size) const {
    for (std::int64_t i = 0; i < size; i += kMost) {
      std::memcpy(to + i, piece_, static_cast<std::size_t>(std::min(size - i, kMost)) * sizeof(T));
    }
  }

 private:
  static constexpr std::int64_t kMost = 1 << 10;
  T piece_[kMost];
};

// Of dense tensors, which may be parts of one storage.
bool overlap(const TensorImpl& a, const TensorImpl& b) {
  const auto *const from_a = static_cast<const char*>(a.data()), *const from_b = static_cast<const char*>(b.data());
  const auto bytes = [](const TensorImpl& t) { return t.numel() * static_cast<std::int64_t>(item_size(t.dtype)); };
  return from_a < from_b + bytes(b) && from_b < from_a + bytes(a);
}

template <class T>
void add_at(T* to, const std::int64_t* positions, const T* source, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) to[positions[k]] = sum_of(to[positions[k]], source[k]);
}

// Whether the call is one of dense rows that do not share memory.
bool find_rows(const KernelArgs& c, Rows& r) {
  const TensorImpl &self = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3), &out = *c.out[0];
  const std::size_t rank = out.sizes.size();
  const std::int64_t dim = c.args[1].get<Size>().value();
  if (rank == 0 || (dim != -1 && dim != static_cast<std::int64_t>(rank) - 1)) return false;
  if (index.dtype != DType::Int64 || index.sizes.size() != rank || !(source.sizes == index.sizes)) return false;
  if (!out.is_contiguous() || !index.is_contiguous() || !source.is_contiguous()) return false;
  if (!(self.sizes == out.sizes) || out.numel() == 0) return false;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (index.sizes[d] != out.sizes[d]) return false;
    r.rows *= out.sizes[d];
  }
  r.size = out.sizes[rank - 1], r.count = index.sizes[rank - 1];
  return !overlap(index, out) && !overlap(source, out);
}

}  // namespace

bool run_op(ops::ScatterAdd, const KernelArgs& c) {
  Rows r;
  if (!find_rows(c, r)) return false;
  const TensorImpl &self = c.tensor(0), &out = *c.out[0];
  const auto* const positions = c.tensor(2).as<std::int64_t>();
  const std::int64_t least = std::max<std::int64_t>(1, kRowWork / (r.size + r.count));
  std::atomic<bool> inside{true};
  parallel_for(r.rows, least, [&](std::int64_t begin, std::int64_t end) {
    if (!are_inside(positions + begin * r.count, (end - begin) * r.count, r.size)) inside = false;
  });
  if (!inside) return false;  // the reference says which one it is
  const bool one_value = std::ranges::all_of(self.strides, [](std::int64_t s) { return s == 0; });
  const bool here = &self == &out, dense = self.is_contiguous();
  if (!here && !one_value && !dense) copy_converted(Conversion(), self, *c.out[0]);
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T *const from = self.as<T>(), *const source = c.tensor(3).as<T>();
    parallel_for(r.rows, least, [&](std::int64_t begin, std::int64_t end) {
      T* to = c.out[0]->as<T>() + begin * r.size;
      const Filled<T> filled(*from, r.size);
      for (std::int64_t i = begin; i < end; ++i, to += r.size) {
        if (!here && one_value) {
          filled.fill(to, r.size);
        } else if (!here && dense) {
          std::memcpy(to, from + i * r.size, static_cast<std::size_t>(r.size) * sizeof(T));
        }
        add_at(to, positions + i * r.count, source + i * r.count, r.count);
      }
    });
  });
  return true;
}

}  // namespace md::blocks
