// Which Philox block an element of rand, randn and randint takes its bits from, and how bits become a value.
#include "ir/reference/random_fill.h"

#include <cmath>

namespace md {
namespace {

// The block a counter gives, computed once for neighbours that share it.
class Blocks {
 public:
  explicit Blocks(const RandomRange& r) : range_(r) {}
  const PhiloxBlock& operator[](std::uint64_t number) {
    if (number != number_) block_ = philox(range_.seed, range_.first + (number_ = number));
    return block_;
  }
  std::uint64_t bits(std::uint64_t i) { return bits_of((*this)[i / 2], i % 2); }

 private:
  RandomRange range_;
  std::uint64_t number_ = ~std::uint64_t{0};
  PhiloxBlock block_{};
};

// value(i) for each element, converted to the tensor's dtype.
template <class F>
void fill(const TensorImpl& out, F&& value) {
  visit_dtype(out.dtype, [&](auto to) {
    using To = decltype(to);
    To* const data = out.as<To>();
    const std::int64_t n = out.numel();
    for (std::int64_t i = 0; i < n; ++i) data[i] = convert_value<To>(value(static_cast<std::uint64_t>(i)));
  });
}

std::uint64_t count(const KernelCall& c) { return static_cast<std::uint64_t>(c.out[0]->numel()); }
bool is_wide(const KernelCall& c) { return c.out[0]->dtype == DType::Float64; }

std::int64_t as_int(const Arg& a) {
  std::int64_t v;
  number_element(a, DType::Int64, &v);
  return v;
}

}  // namespace

std::uint64_t random_blocks(ops::Rand, const KernelCall& c) {
  return is_wide(c) ? blocks_64(count(c)) : blocks_f32(count(c));
}
std::uint64_t random_blocks(ops::Randn, const KernelCall& c) { return blocks_64(count(c)); }
std::uint64_t random_blocks(ops::Randint, const KernelCall& c) { return blocks_64(count(c)); }

void fill_random(ops::Rand, const KernelCall& c, const RandomRange& r) {
  const TensorImpl& out = *c.out[0];
  Blocks blocks(r);
  if (is_wide(c)) return fill(out, [&](std::uint64_t i) { return unit_f64(blocks.bits(i)); });
  const auto single = [&](std::uint64_t i) { return unit_f32(blocks[i / 4][i % 4]); };
  if (!is_half(out.dtype)) return fill(out, single);
  // As many of a word's upper bits as the dtype has digits: rounding could give 1.
  const float steps = std::ldexp(1.0f, info(out.dtype).digits);
  fill(out, [&](std::uint64_t i) { return std::floor(single(i) * steps) / steps; });
}

void fill_random(ops::Randn, const KernelCall& c, const RandomRange& r) {
  std::uint64_t number = ~std::uint64_t{0};
  std::array<double, 2> pair{};
  fill(*c.out[0], [&](std::uint64_t i) {
    if (number != i / 2) pair = normal_pair(r, number = i / 2);
    return pair[i % 2];
  });
}

void fill_random(ops::Randint, const KernelCall& c, const RandomRange& r) {
  const auto low = static_cast<std::uint64_t>(as_int(c.args[0]));
  const std::uint64_t range = static_cast<std::uint64_t>(as_int(c.args[1])) - low;
  Blocks blocks(r);
  fill(*c.out[0], [&](std::uint64_t i) { return static_cast<std::int64_t>(low + blocks.bits(i) % range); });
}

}  // namespace md
