// Searching in sorted rows, classes as rows of zeros and a one, and functions of two elements that no body has.
#include <limits>

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

template <class T, class F>
[[gnu::always_inline]] inline void map_pairs(const PairParams& p, F&& f) {
  for_each_point(p.space.total, [&](Word i) {
    Word out = 0, a = 0, b = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      out += at * p.out.strides.of[d];
      a += at * p.a.strides.of[d];
      b += at * p.b.strides.of[d];
    });
    at_address<T>(p.out.data)[out] = f(at_address<const T>(p.a.data)[a], at_address<const T>(p.b.data)[b]);
  });
}

template <class T>
std::uint64_t size_of(T x) {
  const auto wide = static_cast<std::int64_t>(x);
  return wide < 0 ? 0 - static_cast<std::uint64_t>(wide) : static_cast<std::uint64_t>(wide);
}
inline std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}
// Wraps in the dtype, then loses its sign.
template <class T>
T common_multiple(T x, T y) {
  const std::uint64_t divisor = common_divisor(size_of(x), size_of(y));
  return divisor == 0 ? T(0) : static_cast<T>(size_of(static_cast<T>(size_of(x) / divisor * size_of(y))));
}

// The bits of a float as a number that grows by one from value to value.
template <class T>
T next_value(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const auto a = widen(x), b = widen(y);
  if (a != a || b != b) return narrow<T>(std::numeric_limits<WorkingOf<T>>::quiet_NaN());
  if (a == b) return y;
  const Bits bits = std::bit_cast<Bits>(x);
  constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
  if (a == 0) return std::bit_cast<T>(static_cast<Bits>((b < 0 ? kSign : Bits(0)) | Bits(1)));
  return std::bit_cast<T>(static_cast<Bits>((a < b) == (a > 0) ? bits + 1 : bits - 1));
}

template <class C>
[[gnu::always_inline]] inline void search_rows(const SearchParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    Word out = 0, row = 0, from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      out += at * p.out.strides.of[d];
      row += at * p.rows.strides.of[d];
      from += at * p.values.strides.of[d];
    });
    const C value = at_address<const C>(p.values.data)[from];
    const C* sorted = at_address<const C>(p.rows.data) + row;
    Word low = 0, high = p.size;
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      const C there = sorted[middle * p.step];
      if (p.right ? there > value : there >= value) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (p.wide) {
      at_address<std::int64_t>(p.out.data)[out] = low;
    } else {
      at_address<std::int32_t>(p.out.data)[out] = static_cast<std::int32_t>(low);
    }
  });
}

}  // namespace

MD_KERNEL void search_f64(SearchParams p) { search_rows<double>(p); }
MD_KERNEL void search_i64(SearchParams p) { search_rows<std::int64_t>(p); }

MD_KERNEL void one_hot_i64(ClassParams p) {
  for_each_point(p.space.total * p.classes, [&](Word i) {
    const Word row = i / p.classes, column = i % p.classes;
    Word from = 0;
    for_each_coordinate(p.space, row, [&](Word d, Word at) { from += at * p.from.strides.of[d]; });
    const Word named = at_address<const std::int64_t>(p.from.data)[from];
    if (column == 0 && (named < 0 || named >= p.classes)) note_outside(p.status, p.named, named);
    at_address<std::int64_t>(p.to)[i] = named == column;
  });
}

#define MD_PAIRS_OF_INTEGERS(N, T)                                                                    \
  MD_KERNEL void gcd_##N(PairParams p) {                                                              \
    map_pairs<T>(p, [](T x, T y) { return static_cast<T>(common_divisor(size_of(x), size_of(y))); }); \
  }                                                                                                   \
  MD_KERNEL void lcm_##N(PairParams p) {                                                              \
    map_pairs<T>(p, [](T x, T y) { return common_multiple(x, y); });                                  \
  }
MD_FOR_INTEGERS(MD_PAIRS_OF_INTEGERS)
#define MD_PAIRS_OF_FLOATS(N, T)                                \
  MD_KERNEL void nextafter_##N(PairParams p) {                  \
    map_pairs<T>(p, [](T x, T y) { return next_value(x, y); }); \
  }
MD_FOR_FLOATS(MD_PAIRS_OF_FLOATS)

}  // namespace md::device_blocks
