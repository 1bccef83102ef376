// The discrete Fourier transform along one dimension: mixed radix for lengths of small factors, Bluestein's algorithm
// for others. Computes in double whatever the dtype.
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "ir/reference/reference.h"
#include "registry/ops/complex.h"

namespace md {

namespace {

struct Pair {
  double re = 0, im = 0;
  Pair operator+(Pair o) const { return {re + o.re, im + o.im}; }
  Pair operator*(Pair o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
};

constexpr std::int64_t kLargestRadix = 31;

std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) out.push_back(p);
  if (n > 1) out.push_back(n);
  return out;
}

// exp(sign 2 pi i k / n). Exact where a part is 0 or 1.
Pair unit_root(std::int64_t k, std::int64_t n, double sign) {
  k %= n;
  const std::int64_t eighth = 8 * k / n;  // brought into the first eighth of the circle
  const auto angle = [&](std::int64_t of) {
    return 2 * std::numbers::pi * (static_cast<double>(of) / static_cast<double>(n));
  };
  double c, s;
  if (eighth == 0 || eighth == 7) {
    const std::int64_t from = eighth == 0 ? k : k - n;
    c = std::cos(angle(from)), s = std::sin(angle(from));
  } else {
    const std::int64_t quarter = (eighth + 1) / 2;  // the axis that is nearest: 1, 2 or 3 quarters
    const double rest =
        2 * std::numbers::pi * (static_cast<double>(4 * k - quarter * n) / (4.0 * static_cast<double>(n)));
    const double u = std::cos(rest), v = std::sin(rest);
    c = quarter == 1 ? -v : quarter == 2 ? -u : v;
    s = quarter == 1 ? u : quarter == 2 ? -v : -u;
  }
  return {c, sign * s};
}

// Of a length whose prime factors are small.
class MixedRadix {
 public:
  MixedRadix(std::int64_t n, double sign) : n_(n), factors_(prime_factors(n)) {
    for (std::int64_t k = 0; k < n; ++k) roots_.push_back(unit_root(k, n, sign));
  }
  std::vector<Pair> operator()(const std::vector<Pair>& x) const {
    std::vector<Pair> out(x.size());
    step(n_, 1, 0, x.data(), out.data());
    return out;
  }

 private:
  // n elements of `in`, `stride` apart.
  void step(std::int64_t n, std::int64_t stride, std::size_t level, const Pair* in, Pair* out) const {
    if (n == 1) {
      *out = *in;
      return;
    }
    const std::int64_t r = factors_[level], m = n / r;
    for (std::int64_t q = 0; q < r; ++q) step(m, stride * r, level + 1, in + q * stride, out + q * m);
    Pair turned[kLargestRadix];
    for (std::int64_t k = 0; k < m; ++k) {
      for (std::int64_t q = 0; q < r; ++q)
        turned[q] = out[q * m + k] * roots_[static_cast<std::size_t>(q * k * stride)];
      for (std::int64_t p = 0; p < r; ++p) {
        Pair sum = turned[0];
        for (std::int64_t q = 1; q < r; ++q)
          sum = sum + turned[q] * roots_[static_cast<std::size_t>(p * q % r * (n_ / r))];
        out[p * m + k] = sum;
      }
    }
  }

  std::int64_t n_;
  std::vector<std::int64_t> factors_;
  std::vector<Pair> roots_;
};

// A convolution with a chirp, whose transforms have a length that is a power of two.
class Bluestein {
 public:
  Bluestein(std::int64_t n, double sign) : n_(n), m_(1) {
    while (m_ < 2 * n - 1) m_ *= 2;
    std::int64_t square = 0;  // k * k modulo 2n
    for (std::int64_t k = 0; k < n; ++k) {
      chirp_.push_back(unit_root(square, 2 * n, sign));
      square = (square + 2 * k + 1) % (2 * n);
    }
    std::vector<Pair> kernel(static_cast<std::size_t>(m_));
    for (std::int64_t k = 0; k < n; ++k) {
      const Pair c = chirp_[static_cast<std::size_t>(k)];
      kernel[static_cast<std::size_t>(k)] = kernel[static_cast<std::size_t>((m_ - k) % m_)] = {c.re, -c.im};
    }
    forward_ = std::make_unique<MixedRadix>(m_, -1.0);
    backward_ = std::make_unique<MixedRadix>(m_, 1.0);
    kernel_ = (*forward_)(kernel);
  }
  std::vector<Pair> operator()(const std::vector<Pair>& x) const {
    std::vector<Pair> padded(static_cast<std::size_t>(m_));
    for (std::size_t k = 0; k < x.size(); ++k) padded[k] = x[k] * chirp_[k];
    padded = (*forward_)(padded);
    for (std::size_t k = 0; k < padded.size(); ++k) padded[k] = padded[k] * kernel_[k];
    padded = (*backward_)(padded);
    std::vector<Pair> out(static_cast<std::size_t>(n_));
    const double scale = 1.0 / static_cast<double>(m_);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = padded[k] * chirp_[k] * Pair{scale, 0};
    return out;
  }

 private:
  std::int64_t n_, m_;
  std::vector<Pair> chirp_, kernel_;
  std::unique_ptr<MixedRadix> forward_, backward_;
};

template <class T, class Transform>
void transform_lines(const KernelCall& c, const Transform& transform) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const double scale = c.args[3].get<double>();
  std::int64_t d = c.args[1].get<Size>().value();
  if (d < 0) d += x.dim();
  const auto first_of_lines = [&](const TensorImpl& t) {
    DimVec sizes = t.sizes;
    sizes[static_cast<std::size_t>(d)] = sizes.back() = 1;
    return TensorImpl(t.storage, t.dtype, sizes, t.strides, t.offset);
  };
  const std::int64_t n = x.sizes[static_cast<std::size_t>(d)];
  const std::int64_t from_step = x.strides[static_cast<std::size_t>(d)],
                     to_step = out.strides[static_cast<std::size_t>(d)];
  const std::int64_t from_part = x.strides.back(), to_part = out.strides.back();
  const TensorImpl from_lines = first_of_lines(x), to_lines = first_of_lines(out);
  ElementCursor from(from_lines, from_lines.sizes), to(to_lines, to_lines.sizes);
  std::vector<Pair> line(static_cast<std::size_t>(n));
  for (std::int64_t left = from_lines.numel(); left > 0; --left, from.next(), to.next()) {
    const T* in = x.as<T>() + from.offset();
    for (std::int64_t k = 0; k < n; ++k)
      line[static_cast<std::size_t>(k)] = {in[k * from_step], in[k * from_step + from_part]};
    const std::vector<Pair> made = transform(line);
    T* result = out.as<T>() + to.offset();
    for (std::int64_t k = 0; k < n; ++k) {
      result[k * to_step] = static_cast<T>(made[static_cast<std::size_t>(k)].re * scale);
      result[k * to_step + to_part] = static_cast<T>(made[static_cast<std::size_t>(k)].im * scale);
    }
  }
}

template <class Transform>
void transform_tensor(const KernelCall& c, const Transform& transform) {
  if (c.out[0]->dtype == DType::Float64)
    transform_lines<double>(c, transform);
  else
    transform_lines<float>(c, transform);
}

}  // namespace

void reference_kernel(ops::FourierPairs, const KernelCall& c) {
  const TensorImpl& x = c.tensor(0);
  const std::int64_t d = c.args[1].get<Size>().value();
  const std::int64_t n = x.sizes[static_cast<std::size_t>(d < 0 ? d + x.dim() : d)];
  const double sign = c.args[2].get<bool>() ? 1.0 : -1.0;
  if (x.numel() == 0) return;
  const std::vector<std::int64_t> factors = prime_factors(n);
  if (factors.empty() || factors.back() <= kLargestRadix)
    transform_tensor(c, MixedRadix(n, sign));
  else
    transform_tensor(c, Bluestein(n, sign));
}

}  // namespace md
