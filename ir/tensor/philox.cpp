// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#include "ir/tensor/philox.h"

#include <mutex>
#include <random>
#include <utility>

#include "ir/core/scalar_builder.h"
#include "ir/tensor/generator.h"
#include "registry/ops/math.h"

namespace md {
namespace {

constexpr std::uint32_t kMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
constexpr std::uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

std::mutex& generator_lock() {
  static std::mutex m;
  return m;
}

thread_local Generator* chosen = nullptr;

}  // namespace

Generator*& generator_of_call() { return chosen; }

DrawFrom::DrawFrom(Generator& g) : before_(std::exchange(chosen, &g)) {}
DrawFrom::~DrawFrom() { chosen = before_; }

PhiloxBlock philox(std::uint64_t seed, std::uint64_t counter) {
  PhiloxBlock x{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kMultiplier[0]} * x[0], b = std::uint64_t{kMultiplier[1]} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += kWeyl[0];
    key[1] += kWeyl[1];
  }
  return x;
}

Generator& default_generator() {
  static Generator g{(std::uint64_t{std::random_device{}()} << 32) | std::random_device{}(), 0};
  return g;
}

RandomRange reserve_random(std::uint64_t blocks) {
  const std::lock_guard hold(generator_lock());
  Generator& g = chosen ? *chosen : default_generator();
  const RandomRange r{g.seed, g.offset};
  g.offset += blocks;
  return r;
}

void seed_generator(std::uint64_t seed) { set_state(default_generator(), {seed, 0}); }

Generator state_of(const Generator& g) {
  const std::lock_guard hold(generator_lock());
  return g;
}

void set_state(Generator& g, Generator state) {
  const std::lock_guard hold(generator_lock());
  g = state;
}

std::uint64_t random_bits(const RandomRange& r, std::uint64_t i) {
  return bits_of(philox(r.seed, r.first + i / 2), i % 2);
}

double uniform_f64(const RandomRange& r, std::uint64_t i) { return unit_f64(random_bits(r, i)); }

std::array<double, 2> normal_pair(const RandomRange& r, std::uint64_t block) {
  // Two uniforms make two normals: by the cosine and the sine of one angle.
  ScalarBuilder<double> b;
  const PhiloxBlock words = philox(r.seed, r.first + block);
  const auto unit = [&](std::uint64_t half) {
    return (static_cast<double>(bits_of(words, half) >> 11) + 1) * 0x1p-53;  // (0, 1]: its logarithm is finite
  };
  const double radius = b.sqrt(-2 * math::log(b, unit(0)));
  const double angle = 0x1.921fb54442d18p+2 * unit(1);
  return {radius * math::cos(b, angle), radius * math::sin(b, angle)};
}

}  // namespace md
