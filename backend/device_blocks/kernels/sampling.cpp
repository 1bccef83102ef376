// Positions drawn by weights, and shuffles, from the CPU's stream of random numbers.
#include "backend/device_blocks/kernels/philox.h"
#include "registry/ops/math.h"

namespace md::device_blocks {
namespace {

inline void note_weights(std::uint64_t status, WrongWeights what) {
  auto* s = at_address<NotedStatus>(status);
  if (__atomic_exchange_n(&s->taken, 1, __ATOMIC_RELAXED)) return;
  s->details[0] = static_cast<Word>(what);
  show_to_host();
  *static_cast<volatile std::int32_t*>(&s->code) = static_cast<std::int32_t>(Failure::Weights);
}

}  // namespace

// The first position whose running sum lies above a uniform share of the row's.
MD_KERNEL void sample_again(SampleParams p) {
  for_each_point(p.rows * p.samples, [&](Word i) {
    const Word row = i / p.samples;
    const auto* sums = at_address<const double>(p.sums) + row * p.size;
    const auto* weights = at_address<const double>(p.weights) + row * p.size;
    Word last = p.size - 1;  // rounding must not lead to a position without weight
    while (last > 0 && !(weights[last] > 0)) --last;
    const double wanted = unit_of_element(p.seed, p.first, i) * sums[p.size - 1];
    Word low = 0, high = p.size;
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      if (sums[middle] > wanted) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    at_address<Word>(p.to)[i] = low < last ? low : last;
  });
}

// Exponential waiting times at the rates of the weights; NaN, which is sorted last, for those that never come.
MD_KERNEL void waiting_times(SampleParams p) {
  for_each_point(p.rows * p.size, [&](Word i) {
    const double weight = at_address<const double>(p.weights)[i];
    DeviceBuilder<double> b;
    const double time = -math::log1p(b, -unit_of_element(p.seed, p.first, i)) / weight;
    at_address<double>(p.to)[i] = weight == 0 ? __builtin_nan("") : time;
  });
}

// What is wrong with the weights of a row, whose running sums are at hand.
MD_KERNEL void check_weights(SampleParams p) {
  for_each_point(p.rows, [&](Word row) {
    const auto* weights = at_address<const double>(p.weights) + row * p.size;
    Word positive = 0;
    for (Word i = 0; i < p.size; ++i) {
      if (!(weights[i] >= 0) || weights[i] - weights[i] != 0) return note_weights(p.status, WrongWeights::Negative);
      positive += weights[i] > 0;
    }
    if (!(at_address<const double>(p.sums)[(row + 1) * p.size - 1] > 0))
      return note_weights(p.status, WrongWeights::NoSum);
    if (positive < p.samples) note_weights(p.status, WrongWeights::TooFew);
  });
}

// Which position each one is swapped with, from the last to the first.
MD_KERNEL void draw_partners(ShuffleParams p) {
  for_each_point(p.total, [&](Word i) {
    const std::uint64_t bits = bits_of_element(p.seed, p.first, i);
    at_address<Word>(p.partners)[i] = i ? static_cast<Word>(bits % static_cast<std::uint64_t>(i + 1)) : -1;
    at_address<Word>(p.order)[i] = i;
    at_address<Word>(p.claims)[i] = -1;
  });
}

// A swap may be done as soon as no earlier one, of a position behind it, touches the same places: each round the
// latest positions claim theirs. (Shun, Gu, Blelloch, Fineman, Gibbons: "Sequential random permutation, list
// contraction and tree contraction are highly parallel", 2015.)
MD_KERNEL void claim_places(ShuffleParams p) {
  for_each_point(p.total, [&](Word i) {
    const Word partner = at_address<const Word>(p.partners)[i];
    if (i == 0 && p.round == 0) *at_address<Word>(p.left) = 0;
    if (partner < 0) return;
    const Word claim = p.round * p.total + i;
    auto* claims = at_address<Word>(p.claims);
    __atomic_fetch_max(&claims[i], claim, __ATOMIC_RELAXED);
    __atomic_fetch_max(&claims[partner], claim, __ATOMIC_RELAXED);
  });
}

MD_KERNEL void swap_claimed(ShuffleParams p) {
  for_each_point(p.total, [&](Word i) {
    Word& partner = at_address<Word>(p.partners)[i];
    if (partner < 0) return;
    const Word claim = p.round * p.total + i;
    const auto* claims = at_address<const Word>(p.claims);
    if (claims[i] == claim && claims[partner] == claim) {
      auto* order = at_address<Word>(p.order);
      const Word kept = order[i];
      order[i] = order[partner];
      order[partner] = kept;
      partner = -1;
    } else {
      *at_address<volatile Word>(p.left) = p.round + 1;
    }
  });
}

}  // namespace md::device_blocks
