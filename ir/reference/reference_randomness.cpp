// Kernels of the random ops beyond rand, randn and randint.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/core/error.h"
#include "ir/reference/fill_elements.h"
#include "ir/reference/reference.h"
#include "ir/tensor/philox.h"
#include "registry/ops/math.h"
#include "registry/ops/randomness.h"

namespace md {
namespace {

// All elements as float64, in row-major order of `sizes`.
std::vector<double> values_of(const TensorImpl& t, const DimVec& sizes) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  std::vector<double> v(static_cast<std::size_t>(n));
  ElementCursor at(t, sizes);
  gather(t, at, n, DType::Float64, v.data());
  return v;
}

// Words of 32 bits, in order.
class Words {
 public:
  explicit Words(std::int64_t n) : range_(reserve_random(blocks_f32(static_cast<std::uint64_t>(n)))) {}
  std::uint32_t next() {
    if (at_ % 4 == 0) block_ = philox(range_.seed, range_.first + at_ / 4);
    return block_[at_++ % 4];
  }

 private:
  RandomRange range_;
  std::uint64_t at_ = 0;
  PhiloxBlock block_{};
};

bool happens(std::uint32_t word, double p) { return static_cast<double>(word) * 0x1p-32 < p; }

void draw_by_tensor(const KernelCall& c, const TensorImpl& probabilities) {
  const TensorImpl& out = *c.out[0];
  const std::vector<double> p = values_of(probabilities, out.sizes);
  for (const double v : p) {
    if (!(v >= 0 && v <= 1)) {
      throw OpError(ErrorKind::Runtime,
                    "bernoulli(): probabilities must lie in [0, 1], but one is " + std::to_string(v));
    }
  }
  Words words(out.numel());
  fill_elements(out, [&](std::int64_t i) { return happens(words.next(), p[static_cast<std::size_t>(i)]); });
}

}  // namespace

void reference_kernel(ops::Bernoulli, const KernelCall& c) { draw_by_tensor(c, c.tensor(0)); }
void reference_kernel(ops::BernoulliTensor, const KernelCall& c) { draw_by_tensor(c, c.tensor(1)); }

void reference_kernel(ops::BernoulliP, const KernelCall& c) {
  const double p = c.args[1].get<double>();
  Words words(c.out[0]->numel());
  fill_elements(*c.out[0], [&](std::int64_t) { return happens(words.next(), p); });
}

void reference_kernel(ops::Randperm, const KernelCall& c) {
  // Fisher and Yates' shuffle, from the end.
  const std::int64_t n = c.out[0]->numel();
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const RandomRange r = reserve_random(blocks_64(static_cast<std::uint64_t>(n)));
  for (std::int64_t i = n - 1; i > 0; --i) {
    const auto bits = random_bits(r, static_cast<std::uint64_t>(i));
    std::swap(order[static_cast<std::size_t>(i)], order[bits % static_cast<std::uint64_t>(i + 1)]);
  }
  fill_elements(*c.out[0], [&](std::int64_t i) { return order[static_cast<std::size_t>(i)]; });
}

namespace {

[[noreturn]] void bad_weights(const char* what) {
  throw OpError(ErrorKind::Runtime, std::string("multinomial(): ") + what);
}

double total_of(const double* weights, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i])) bad_weights("weights must be finite and not negative");
    total += weights[i];
  }
  if (!(total > 0)) bad_weights("the weights of a row add up to 0");
  return total;
}

// The first position whose share of the running sum lies above a uniform number.
void with_replacement(const double* weights, std::int64_t n, std::int64_t samples, const RandomRange& r,
                      std::uint64_t first, std::int64_t* out) {
  std::vector<double> sums(static_cast<std::size_t>(n));
  std::partial_sum(weights, weights + n, sums.begin());
  std::int64_t last = n - 1;  // rounding must not lead to a position without weight
  while (weights[last] == 0) --last;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double u = uniform_f64(r, first + static_cast<std::uint64_t>(i)) * sums.back();
    out[i] = std::min<std::int64_t>(std::upper_bound(sums.begin(), sums.end(), u) - sums.begin(), last);
  }
}

// Positions in the order of exponential waiting times at the rates of the weights. (Efraimidis, Spirakis: "Weighted
// random sampling with a reservoir", 2006.)
void without_replacement(const double* weights, std::int64_t n, std::int64_t samples, const RandomRange& r,
                         std::uint64_t first, std::int64_t* out) {
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::int64_t i = 0; i < n; ++i) {
    if (weights[i] == 0) continue;
    const double u = uniform_f64(r, first + static_cast<std::uint64_t>(i));
    ScalarBuilder<double> b;
    times.emplace_back(-math::log1p(b, -u) / weights[i], i);
  }
  if (static_cast<std::int64_t>(times.size()) < samples) {
    bad_weights("fewer weights than samples without replacement are greater than 0");
  }
  std::partial_sort(times.begin(), times.begin() + samples, times.end());
  for (std::int64_t i = 0; i < samples; ++i) out[i] = times[static_cast<std::size_t>(i)].second;
}

}  // namespace

void reference_kernel(ops::Multinomial, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::int64_t n = x.sizes.back(), samples = out.sizes.back(), rows = x.dim() == 2 ? x.sizes[0] : 1;
  const bool replacement = c.args[2].get<bool>();
  const std::int64_t draws = replacement ? samples : n;
  const std::vector<double> weights = values_of(x, x.sizes);
  for (std::int64_t i = 0; i < rows; ++i) total_of(weights.data() + i * n, n);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(rows * samples));
  const RandomRange r = reserve_random(blocks_64(static_cast<std::uint64_t>(rows * draws)));
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto draw = replacement ? with_replacement : without_replacement;
    draw(weights.data() + i * n, n, samples, r, static_cast<std::uint64_t>(i * draws), drawn.data() + i * samples);
  }
  fill_elements(out, [&](std::int64_t i) { return drawn[static_cast<std::size_t>(i)]; });
}

}  // namespace md
