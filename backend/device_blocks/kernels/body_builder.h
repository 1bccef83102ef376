// The builder that bodies of ops run with on a device: that of single values, with fmod, which is the C library's
// elsewhere, done by hand: it is exact.
#pragma once

#include "backend/device_blocks/kernels/device.h"
#include "registry/ops/math.h"

namespace md::device_blocks {

// The remainder of |x| by |y|, both finite, y not 0: significands divided some bits at a time. Exact.
template <class T>
inline T exact_remainder(T x, T y) {
  constexpr int kBits = sizeof(T) == 8 ? 52 : 23;
  constexpr int kAtOnce = sizeof(T) == 8 ? 11 : 40;  // bits there is room for beside a significand
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kBits;
  using I = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const std::uint64_t a = std::bit_cast<I>(x), b = std::bit_cast<I>(y);
  int ea = static_cast<int>(a >> kBits), eb = static_cast<int>(b >> kBits);
  std::uint64_t ma = a & (kHidden - 1), mb = b & (kHidden - 1);
  ea ? ma |= kHidden : std::uint64_t(ea = 1);
  eb ? mb |= kHidden : std::uint64_t(eb = 1);
  if (ea < eb) return x;
  int left = ea - eb;
  ma %= mb;
  while (left > 0 && ma != 0) {
    const int n = left < kAtOnce ? left : kAtOnce;
    ma = (ma << n) % mb;
    left -= n;
  }
  if (ma == 0) return T(0);
  // ma * 2^(eb - bias - bits), which is below y: shifted up until it is normal or the exponent is used up.
  while (ma < kHidden && eb > 1) ma <<= 1, --eb;
  const std::uint64_t bits = ma < kHidden ? ma : (static_cast<std::uint64_t>(eb) << kBits) | (ma & (kHidden - 1));
  return std::bit_cast<T>(static_cast<I>(bits));
}

template <class T>
struct BodyBuilder : ScalarBuilder<T> {
  T fmod(T x, T y)
    requires(!ScalarBuilder<T>::kInteger)
  {
    const T a = x < 0 ? -x : x, b = y < 0 ? -y : y;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (!(a < kInfinity) || y != y || b == 0) return std::numeric_limits<T>::quiet_NaN();
    if (a < b) return x;
    const T r = exact_remainder(a, b);
    return std::bit_cast<std::make_signed_t<typename ScalarBuilder<T>::I>>(x) < 0 ? -r : r;
  }
  template <class Fn>
  T call_rare(bool rare, T x, T usual) {
    return rare ? static_cast<T>(Fn::template eval<BodyBuilder<double>>(x)) : usual;
  }
};

}  // namespace md::device_blocks
