// Conversions between the compute dtypes (docs/numerics.md): float to integer has one defined result for every input.
#include "backend/blocks/kernels/pointwise.h"

namespace md::blocks {
namespace {

struct Bool {};  // a byte that is 0 or 1
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, Bool>, std::uint8_t, T>;

// Everything whose truncation fits To; false for NaN.
template <class To, class From>
bool fits(From x) {
  constexpr From high = -static_cast<From>(std::numeric_limits<To>::min());  // 2^31 or 2^63, exact
  if constexpr (sizeof(From) > sizeof(To)) {
    return x > -high - 1 && x < high;
  } else {
    return x >= -high && x < high;
  }
}

template <class From, class To>
Stored<To> convert_one(Stored<From> x) {
  if constexpr (std::is_same_v<To, Bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<Stored<From>> && std::is_integral_v<To>) {
    return fits<To>(x) ? static_cast<To>(x) : std::numeric_limits<To>::min();
  } else if constexpr (std::is_integral_v<Stored<From>> && std::is_integral_v<To>) {
    return static_cast<To>(static_cast<std::make_unsigned_t<To>>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void convert(const void* in, void* out, std::int64_t n) {
  const auto* from = static_cast<const Stored<From>*>(in);
  auto* to = static_cast<Stored<To>*>(out);
  std::int64_t i = 0;
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(From) == sizeof(To)) {
    using F = Simd<From>;
    using T = Simd<To>;
    if constexpr (F::kLanes > 1) {
      const auto high = F::every(-static_cast<From>(std::numeric_limits<To>::min()));
      for (; i + F::kLanes <= n; i += F::kLanes) {
        const auto v = F::load(from + i);
        const auto inside = F::mand(F::ge(v, F::neg(high)), F::lt(v, high));
        // The machine's conversion of what does not fit is not used, whatever it gives.
        T::store(to + i, F::iselect(inside, F::to_int(v), F::iconst(std::numeric_limits<To>::min())));
      }
    }
  }
  for (; i < n; ++i) to[i] = convert_one<From, To>(from[i]);
}

}  // namespace

namespace MD_LEVEL {

#define MD_FROM(F) \
  {&convert<F, float>, &convert<F, double>, &convert<F, std::int32_t>, &convert<F, std::int64_t>, &convert<F, Bool>}
constexpr ConvertKernel kConvert[kComputeTypes][kComputeTypes] = {
    MD_FROM(float), MD_FROM(double), MD_FROM(std::int32_t), MD_FROM(std::int64_t), MD_FROM(Bool)};
#undef MD_FROM

}  // namespace MD_LEVEL
}  // namespace md::blocks
