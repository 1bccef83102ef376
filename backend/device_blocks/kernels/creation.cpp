// Tensors made of numbers and of positions.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

// to[point i] = value(i)
template <class T, class F>
[[gnu::always_inline]] inline void fill_with(const FillParams& p, F&& value) {
  for_each_point(p.space.total, [&](Word i) {
    Word to = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) { to += at * p.to.strides.of[d]; });
    at_address<T>(p.to.data)[to] = value(i);
  });
}

// A value rounded to a half.
template <class T>
inline double rounded(double v) {
  return static_cast<double>(widen(convert_value<T>(v)));
}

// Counted from the nearer end. Halves round after each operation.
template <class T>
[[gnu::always_inline]] inline void fill_line(const FillParams& p) {
  const Word n = p.space.total;
  fill_with<T>(p, [&](Word i) {
    const bool near_start = i < n / 2 || n == 1;
    const Word steps = near_start ? i : n - 1 - i;
    if constexpr (std::is_class_v<T>) {
      const double way = rounded<T>(p.step * rounded<T>(static_cast<double>(steps)));
      return convert_value<T>(rounded<T>(near_start ? p.start + way : p.end - way));
    } else {
      using V = std::conditional_t<std::is_same_v<T, float>, float, double>;
      const V step = static_cast<V>(near_start ? p.step : -p.step), from = static_cast<V>(near_start ? p.start : p.end);
      return convert_value<T>(ScalarBuilder<V>().fma(step, static_cast<V>(steps), from));
    }
  });
}

}  // namespace

#define MD_FILL(N, U)                                                                                     \
  MD_KERNEL void fill_##N(FillParams p) {                                                                 \
    fill_with<U>(p, [&](Word) { return static_cast<U>(p.bits); });                                        \
  }                                                                                                       \
  MD_KERNEL void eye_##N(FillParams p) {                                                                  \
    fill_with<U>(p, [&](Word i) { return static_cast<U>(i / p.columns == i % p.columns ? p.bits : 0); }); \
  }
MD_FOR_SIZES(MD_FILL)
#define MD_LINE(N, T)                                                                                     \
  MD_KERNEL void arange_whole_##N(FillParams p) {                                                         \
    fill_with<T>(p, [&](Word i) { return convert_value<T>(p.whole + i * p.whole_step); });                \
  }                                                                                                       \
  MD_KERNEL void arange_real_##N(FillParams p) {                                                          \
    fill_with<T>(p, [&](Word i) { return convert_value<T>(p.start + static_cast<double>(i) * p.step); }); \
  }                                                                                                       \
  MD_KERNEL void linspace_##N(FillParams p) { fill_line<T>(p); }
MD_FOR_NUMBERS(MD_LINE)

}  // namespace md::device_blocks
