// Philox 4x32-10, a block in each 64-bit lane, and the numbers made of its words: the bits of ir/tensor/philox.cpp.
#include "backend/blocks/kernels/level.h"
#include "registry/ops/math.h"

namespace md::blocks {
namespace {

using B = Simd<double>;
using V = B::V;
using I = B::I;
constexpr int kLanes = B::kLanes;

// The two 64-bit numbers of each lane's block.
struct Halves {
  I first, second;
};

// The words lie in the lower halves of lanes. The upper halves hold what products leave there: products read lower
// halves alone, and shifts to the left drop the upper.
Halves philox(std::uint64_t seed, I counter) {
  constexpr std::uint32_t kMultiplier[2] = {0xD2511F53, 0xCD9E8D57}, kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
  constexpr int kRounds = 10;
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  const I multiplier0 = B::iconst(kMultiplier[0]), multiplier1 = B::iconst(kMultiplier[1]);
  I x0 = counter, x1 = B::ishr(counter, 32), x2 = B::iconst(0), x3 = B::iconst(0);
#pragma GCC unroll 10
  for (int round = 0; round < kRounds; ++round) {
    const I a = B::product_of_words(multiplier0, x0), b = B::product_of_words(multiplier1, x2);
    x0 = B::ixor(B::ixor(B::ishr(b, 32), x1), B::iconst(key0));
    x2 = B::ixor(B::ixor(B::ishr(a, 32), x3), B::iconst(key1));
    x1 = b;
    x3 = a;
    key0 += kWeyl[0];
    key1 += kWeyl[1];
  }
  const I word = B::iconst(0xffffffff);
  return {B::ior(B::iand(x0, word), B::ishl(x1, 32)), B::ior(B::iand(x2, word), B::ishl(x3, 32))};
}

// The upper 53 bits as a number: their upper 32 and lower 21 become floats one by one, and the sum is exact.
V upper_digits(B& b, I bits) {
  const V high = math::small_int_to_float(b, B::ishr(bits, 32));
  const V low = math::small_int_to_float(b, B::iand(B::ishr(bits, 11), B::iconst((1 << 21) - 1)));
  return B::add(B::mul(high, B::constant(0x1p21)), low);
}

struct Bits {
  static Halves of(const Halves& h) { return h; }
};
struct Uniform {
  static Halves of(const Halves& h) { return {unit(h.first), unit(h.second)}; }

 private:
  static I unit(I bits) {
    B b;
    return B::as_bits(B::mul(upper_digits(b, bits), B::constant(0x1p-53)));
  }
};
// normal_pair of ir/tensor/philox.cpp.
struct Normal {
  static Halves of(const Halves& h) {
    B b;
    const V radius = B::sqrt(B::mul(B::constant(-2), math::log(b, unit(b, h.first))));
    const V angle = B::mul(B::constant(0x1.921fb54442d18p+2), unit(b, h.second));
    return {B::as_bits(B::mul(radius, math::cos(b, angle))), B::as_bits(B::mul(radius, math::sin(b, angle)))};
  }

 private:
  static V unit(B& b, I bits) { return B::mul(B::add(upper_digits(b, bits), B::constant(1)), B::constant(0x1p-53)); }
};

void put(char* to, const Halves& h) {
  const Halves in_order{B::interleave<false>(h.first, h.second), B::interleave<true>(h.first, h.second)};
  std::memcpy(to, &in_order, sizeof in_order);
}

template <class Map>
void draw(std::uint64_t seed, std::uint64_t block, std::int64_t n, void* out) {
  constexpr std::int64_t kStep = sizeof(Halves) / 8;
  std::int64_t lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = static_cast<std::int64_t>(block) + i;
  I counter;
  std::memcpy(&counter, lanes, sizeof counter);
  auto* const to = static_cast<char*>(out);
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep, counter = B::iadd(counter, B::iconst(kLanes))) {
    put(to + i * 8, Map::of(philox(seed, counter)));
  }
  if (i < n) {
    char rest[sizeof(Halves)];
    put(rest, Map::of(philox(seed, counter)));
    std::memcpy(to + i * 8, rest, static_cast<std::size_t>(n - i) * 8);
  }
}

void singles(const std::uint32_t* words, int digits, std::int64_t n, float* out) {
  const float step = 1 / static_cast<float>(1 << digits);
  const int shift = 32 - digits;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> shift)) * step;
  }
}

// By a product with the range's reciprocal, rounded down: the quotient is right or one too small.
void remainders(std::uint64_t low, std::uint64_t range, std::int64_t n, std::uint64_t* values) {
  const std::uint64_t reciprocal = ~std::uint64_t{0} / range;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto quotient = static_cast<std::uint64_t>(static_cast<unsigned __int128>(values[i]) * reciprocal >> 64);
    const std::uint64_t rest = values[i] - quotient * range;
    values[i] = low + (rest >= range ? rest - range : rest);
  }
}

bool happens(std::uint32_t word, double p) { return static_cast<double>(word) * 0x1p-32 < p; }

void happen(const std::uint32_t* words, double p, std::int64_t n, std::uint8_t* out) {
  // word < the number of words that happen; 2^32 of them is one more than a word holds.
  std::uint64_t count = static_cast<std::uint64_t>(p * 0x1p32);
  count += static_cast<double>(count) < p * 0x1p32;
  const std::uint8_t possible = count > 0;
  const auto last = static_cast<std::uint32_t>(count - possible);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(words[i] <= last) & possible;
}

void happen_each(const std::uint32_t* words, const double* p, std::int64_t n, std::uint8_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = happens(words[i], p[i]);
}

bool are_probabilities(const double* p, std::int64_t n) {
  bool all = true;
  for (std::int64_t i = 0; i < n; ++i) all &= p[i] >= 0 && p[i] <= 1;
  return all;
}

}  // namespace

namespace MD_LEVEL {

constexpr RandomKernels kRandom = {
    .bits = &draw<Bits>,
    .uniform = &draw<Uniform>,
    .normal = &draw<Normal>,
    .singles = &singles,
    .remainders = &remainders,
    .happen = &happen,
    .happen_each = &happen_each,
    .are_probabilities = &are_probabilities,
};

}  // namespace MD_LEVEL
}  // namespace md::blocks
