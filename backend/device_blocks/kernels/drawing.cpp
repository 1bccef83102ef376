// Random numbers: the CPU's stream of Philox 4x32-10 (ir/tensor/philox.h), a counter to each thread.
#include "backend/device_blocks/kernels/philox.h"
#include "registry/ops/math.h"

namespace md::device_blocks {
namespace {

inline void note_improbable(std::uint64_t status, double probability) {
  auto* s = at_address<NotedStatus>(status);
  if (__atomic_exchange_n(&s->taken, 1, __ATOMIC_RELAXED)) return;
  s->details[0] = std::bit_cast<Word>(probability);
  show_to_host();
  *static_cast<volatile std::int32_t*>(&s->code) = static_cast<std::int32_t>(Failure::Probability);
}

// Element i of `to` becomes value(block, number in the block), kOfBlock to a block.
template <class T, int kOfBlock, class F>
[[gnu::always_inline]] inline void draw(const DrawParams& p, F&& value) {
  for_each_point((p.space.total + kOfBlock - 1) / kOfBlock, [&](Word number) {
    const Block block = philox_block(p.seed, p.first + static_cast<std::uint64_t>(number));
    const auto values = value(block);
#pragma clang loop unroll(full)
    for (int k = 0; k < kOfBlock; ++k) {
      const Word i = number * kOfBlock + k;
      if (i >= p.space.total) break;
      Word to = 0;
      for_each_coordinate(p.space, i, [&](Word d, Word at) { to += at * p.to.strides.of[d]; });
      at_address<T>(p.to.data)[to] = convert_value<T>(values.of[k]);
    }
  });
}

template <class V, int kCount>
struct Values {
  V of[kCount];
};

template <class T>
[[gnu::always_inline]] inline void draw_uniform(const DrawParams& p) {
  if constexpr (std::is_same_v<T, double>) {
    draw<T, 2>(p, [](const Block& b) {
      return Values<double, 2>{
          {static_cast<double>(b.bits(0) >> 11) * 0x1p-53, static_cast<double>(b.bits(1) >> 11) * 0x1p-53}};
    });
  } else {
    draw<T, 4>(p, [](const Block& b) {
      // Of a half as many of a word's upper bits as it has digits: rounding could give 1.
      constexpr int kDigits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, Float16> ? 11 : 8;
      constexpr float kUnit = 1.0f / (1 << kDigits);
      Values<float, 4> v;
      for (int k = 0; k < 4; ++k) v.of[k] = static_cast<float>(b.words[k] >> (32 - kDigits)) * kUnit;
      return v;
    });
  }
}

template <class T>
[[gnu::always_inline]] inline void draw_normal(const DrawParams& p) {
  draw<T, 2>(p, [](const Block& block) {
    DeviceBuilder<double> b;
    const auto unit = [&](int half) { return (static_cast<double>(block.bits(half) >> 11) + 1) * 0x1p-53; };
    const double radius = b.sqrt(-2 * math::log(b, unit(0)));
    const double angle = 0x1.921fb54442d18p+2 * unit(1);
    return Values<double, 2>{{radius * math::cos(b, angle), radius * math::sin(b, angle)}};
  });
}

template <class T>
[[gnu::always_inline]] inline void draw_integers(const DrawParams& p) {
  draw<T, 2>(p, [&](const Block& b) {
    return Values<std::int64_t, 2>{{static_cast<std::int64_t>(p.low + b.bits(0) % p.range),
                                    static_cast<std::int64_t>(p.low + b.bits(1) % p.range)}};
  });
}

template <class T>
[[gnu::always_inline]] inline void draw_events(const DrawParams& p) {
  draw<T, 4>(p, [&](const Block& b) {
    Values<bool, 4> v;
    for (int k = 0; k < 4; ++k) v.of[k] = static_cast<double>(b.words[k]) * 0x1p-32 < p.p;
    return v;
  });
}

// With a probability for each element. One that is none is noted.
template <class T>
[[gnu::always_inline]] inline void draw_each_event(const EventsParams& e) {
  const DrawParams& p = e.draw;
  for_each_point((p.space.total + 3) / 4, [&](Word number) {
    const Block block = philox_block(p.seed, p.first + static_cast<std::uint64_t>(number));
    for (int k = 0; k < 4 && number * 4 + k < p.space.total; ++k) {
      Word to = 0, from = 0;
      for_each_coordinate(p.space, number * 4 + k, [&](Word d, Word at) {
        to += at * p.to.strides.of[d];
        from += at * e.probability.strides.of[d];
      });
      const double probability = at_address<const double>(e.probability.data)[from];
      if (!(probability >= 0 && probability <= 1)) note_improbable(e.status, probability);
      const std::uint32_t word = k == 0   ? block.words[0]
                                 : k == 1 ? block.words[1]
                                 : k == 2 ? block.words[2]
                                          : block.words[3];
      at_address<T>(p.to.data)[to] = convert_value<T>(static_cast<double>(word) * 0x1p-32 < probability);
    }
  });
}

}  // namespace

#define MD_DRAW_FLOATS(N, T)                                    \
  MD_KERNEL void rand_##N(DrawParams p) { draw_uniform<T>(p); } \
  MD_KERNEL void randn_##N(DrawParams p) { draw_normal<T>(p); }
MD_FOR_FLOATS(MD_DRAW_FLOATS)
#define MD_DRAW(N, T)                                               \
  MD_KERNEL void randint_##N(DrawParams p) { draw_integers<T>(p); } \
  MD_KERNEL void bernoulli_##N(DrawParams p) { draw_events<T>(p); } \
  MD_KERNEL void bernoulli_each_##N(EventsParams p) { draw_each_event<T>(p); }
MD_FOR_DTYPES(MD_DRAW)

}  // namespace md::device_blocks
