// Distance of the math functions from the true values, in units in the last place. The oracle is libm in the next wider
// type; whatever looks bad in double is judged again in long double, so that the oracle's own error never decides.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "backend/blocks/kernel_table.h"
#include "ir/graph/op_ids.h"

namespace md::ulp {

struct Function {
  const char* name;
  OpId op;
  double (*wide)(double);
  long double (*exact)(long double);
};

inline const std::vector<Function>& functions() {
  using L = long double;
  static const std::vector<Function> all = {
      {"exp", id::Exp, [](double x) { return std::exp(x); }, [](L x) { return std::exp(x); }},
      {"exp2", id::Exp2, [](double x) { return std::exp2(x); }, [](L x) { return std::exp2(x); }},
      {"expm1", id::Expm1, [](double x) { return std::expm1(x); }, [](L x) { return std::expm1(x); }},
      {"log", id::Log, [](double x) { return std::log(x); }, [](L x) { return std::log(x); }},
      {"log2", id::Log2, [](double x) { return std::log2(x); }, [](L x) { return std::log2(x); }},
      {"log10", id::Log10, [](double x) { return std::log10(x); }, [](L x) { return std::log10(x); }},
      {"log1p", id::Log1p, [](double x) { return std::log1p(x); }, [](L x) { return std::log1p(x); }},
      {"sin", id::Sin, [](double x) { return std::sin(x); }, [](L x) { return std::sin(x); }},
      {"cos", id::Cos, [](double x) { return std::cos(x); }, [](L x) { return std::cos(x); }},
      {"tan", id::Tan, [](double x) { return std::tan(x); }, [](L x) { return std::tan(x); }},
      {"tanh", id::Tanh, [](double x) { return std::tanh(x); }, [](L x) { return std::tanh(x); }},
      {"sigmoid", id::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
       [](L x) { return 1 / (1 + std::exp(-x)); }},
      {"erf", id::Erf, [](double x) { return std::erf(x); }, [](L x) { return std::erf(x); }},
      {"erfc", id::Erfc, [](double x) { return std::erfc(x); }, [](L x) { return std::erfc(x); }},
      {"asin", id::Asin, [](double x) { return std::asin(x); }, [](L x) { return std::asin(x); }},
      {"acos", id::Acos, [](double x) { return std::acos(x); }, [](L x) { return std::acos(x); }},
      {"atan", id::Atan, [](double x) { return std::atan(x); }, [](L x) { return std::atan(x); }},
      {"sinh", id::Sinh, [](double x) { return std::sinh(x); }, [](L x) { return std::sinh(x); }},
      {"cosh", id::Cosh, [](double x) { return std::cosh(x); }, [](L x) { return std::cosh(x); }},
      {"asinh", id::Asinh, [](double x) { return std::asinh(x); }, [](L x) { return std::asinh(x); }},
      {"acosh", id::Acosh, [](double x) { return std::acosh(x); }, [](L x) { return std::acosh(x); }},
      {"atanh", id::Atanh, [](double x) { return std::atanh(x); }, [](L x) { return std::atanh(x); }},
      {"sqrt", id::Sqrt, [](double x) { return std::sqrt(x); }, [](L x) { return std::sqrt(x); }},
      {"rsqrt", id::Rsqrt, [](double x) { return 1 / std::sqrt(x); }, [](L x) { return 1 / std::sqrt(x); }},
  };
  return all;
}

constexpr double kWrong = 1e30;  // not a matter of rounding: NaN, infinity or a sign of zero out of place

// |got - want| in ulps of T at `want`. An overflow to infinity is off by the distance to the first value past the
// range.
template <class T, class Wide>
double distance(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : kWrong;
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : kWrong;
  if (std::isinf(got) && std::isinf(rounded)) return std::signbit(got) == std::signbit(rounded) ? 0 : kWrong;
  if (std::isinf(want)) return kWrong;
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  const Wide value = std::isinf(got)
                         ? std::copysign(std::ldexp(Wide(1), std::numeric_limits<T>::max_exponent), Wide(got))
                         : static_cast<Wide>(got);
  return static_cast<double>(std::abs(value - want) / unit);
}

// The same for float against double, without the long way where everything is finite and not zero.
inline double fast_distance(float got, double want) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(want);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const double limit = std::numeric_limits<float>::max();
  if (!(std::abs(want) <= limit) || !(std::abs(got) <= limit) || want == 0) return distance(got, want);
  const std::uint64_t scale = static_cast<std::uint64_t>(1023 + 23 - std::max(exponent, -126)) << 52;
  return std::abs(static_cast<double>(got) - want) * std::bit_cast<double>(scale);
}

// The largest distance seen, and where.
struct Worst {
  double ulps = 0;
  double at = 0, other = 0;
  void see(double u, double x, double y = 0) {
    if (u > ulps) ulps = u, at = x, other = y;
  }
  void merge(const Worst& o) { see(o.ulps, o.at, o.other); }
};

// Every step-th float32 pattern of [first, last).
inline Worst sweep(const Function& f, const blocks::KernelTable& kernels, std::uint64_t first, std::uint64_t last,
                   std::uint64_t step) {
  const blocks::PointwiseKernel kernel = kernels.pointwise[blocks::compute_index(DType::Float32)][f.op];
  alignas(64) float x[blocks::kBlock], y[blocks::kBlock];
  Worst worst;
  for (std::uint64_t bits = first; bits < last;) {
    int n = 0;
    for (; n < blocks::kBlock && bits < last; ++n, bits += step)
      x[n] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const void* in[] = {x};
    kernel(in, y, n);
    for (int i = 0; i < n; ++i) {
      double u = fast_distance(y[i], f.wide(x[i]));
      if (u > worst.ulps) u = distance(y[i], f.exact(static_cast<long double>(x[i])));
      worst.see(u, x[i]);
    }
  }
  return worst;
}

// Random float64 points over every exponent and over the range where the function has its shape.
inline Worst sample_double(const Function& f, const blocks::KernelTable& kernels, std::uint64_t points, unsigned seed) {
  const blocks::PointwiseKernel kernel = kernels.pointwise[blocks::compute_index(DType::Float64)][f.op];
  alignas(64) double x[blocks::kBlock], y[blocks::kBlock];
  std::mt19937_64 g(seed);
  Worst worst;
  for (std::uint64_t done = 0; done < points; done += blocks::kBlock) {
    for (int i = 0; i < blocks::kBlock; ++i) {
      const double unit = static_cast<double>(static_cast<std::int64_t>(g())) * 0x1p-63;
      x[i] = i % 4 == 0 ? std::bit_cast<double>(g()) : i % 4 == 1 ? unit * 40 : i % 4 == 2 ? unit * 3 : 1 + unit * 0.6;
    }
    const void* in[] = {x};
    kernel(in, y, blocks::kBlock);
    for (int i = 0; i < blocks::kBlock; ++i) worst.see(distance(y[i], f.exact(static_cast<long double>(x[i]))), x[i]);
  }
  return worst;
}

// Values at which pow's rules change.
template <class T>
std::vector<T> pow_edges() {
  using L = std::numeric_limits<T>;
  const T odd = std::ldexp(T(1), L::digits) - 1;  // the largest odd number
  std::vector<T> v = {0,
                      1,
                      T(0.5),
                      2,
                      3,
                      4,
                      T(2.5),
                      T(0.1),
                      10,
                      100,
                      odd,
                      odd + 1,
                      2 * odd,
                      L::denorm_min(),
                      L::min(),
                      L::max(),
                      L::infinity(),
                      1 - L::epsilon() / 2,
                      1 + L::epsilon(),
                      T(1) / 3,
                      127,
                      128,
                      150,
                      1023};
  for (std::size_t i = v.size(); i-- > 0;) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  return v;
}

template <class T>
class PowTest {
 public:
  explicit PowTest(const blocks::KernelTable& kernels)
      : kernel_(kernels.pointwise[blocks::compute_index(std::is_same_v<T, float> ? DType::Float32 : DType::Float64)]
                                 [id::Pow]) {}

  Worst edges() {
    const std::vector<T> values = pow_edges<T>();
    for (const T a : values) {
      for (const T b : values) add(a, b);
    }
    flush();
    return worst_;
  }
  // Random pairs whose results mostly lie in range, small and large.
  Worst random(std::uint64_t pairs, unsigned seed) {
    std::mt19937_64 g(seed);
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const double unit = static_cast<double>(static_cast<std::int64_t>(g())) * 0x1p-63;
      double x = std::ldexp(1 + static_cast<double>(g() >> 12) * 0x1p-52, static_cast<int>(g() % 60) - 30);
      double y = unit * 40;
      if (i % 4 == 1) x = 1 + unit * 0.01, y = static_cast<double>(static_cast<std::int64_t>(g())) * 0x1p-63 * 20000;
      if (i % 4 == 2) x = std::ldexp(x, static_cast<int>(g() % 200) - 100), y = unit;
      if (i % 16 == 3) x = -x, y = std::rint(y);
      add(static_cast<T>(x), static_cast<T>(y));
    }
    flush();
    return worst_;
  }

 private:
  void add(T a, T b) {
    x_[count_] = a, y_[count_] = b;
    if (++count_ == blocks::kBlock) flush();
  }
  void flush() {
    const void* in[] = {x_, y_};
    kernel_(in, out_, count_);
    for (int i = 0; i < count_; ++i) {
      double u = kWrong;
      if constexpr (std::is_same_v<T, float>) u = fast_distance(out_[i], std::pow(double{x_[i]}, double{y_[i]}));
      if (u > worst_.ulps) {
        u = distance(out_[i], std::pow(static_cast<long double>(x_[i]), static_cast<long double>(y_[i])));
      }
      worst_.see(u, x_[i], y_[i]);
    }
    count_ = 0;
  }

  blocks::PointwiseKernel kernel_;
  int count_ = 0;
  alignas(64) T x_[blocks::kBlock], y_[blocks::kBlock], out_[blocks::kBlock];
  Worst worst_;
};

}  // namespace md::ulp
