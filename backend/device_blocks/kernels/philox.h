// Random bits on a device: Philox 4x32-10, as ir/tensor/philox.h.
#pragma once

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {

struct Block {
  std::uint32_t words[4];
  std::uint64_t bits(int half) const { return std::uint64_t{words[2 * half + 1]} << 32 | words[2 * half]; }
};

inline Block philox_block(std::uint64_t seed, std::uint64_t counter) {
  std::uint32_t x0 = static_cast<std::uint32_t>(counter), x1 = static_cast<std::uint32_t>(counter >> 32), x2 = 0,
                x3 = 0;
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
#pragma clang loop unroll(full)
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x0, b = std::uint64_t{0xCD9E8D57} * x2;
    x0 = static_cast<std::uint32_t>(b >> 32) ^ x1 ^ key0;
    x1 = static_cast<std::uint32_t>(b);
    x2 = static_cast<std::uint32_t>(a >> 32) ^ x3 ^ key1;
    x3 = static_cast<std::uint32_t>(a);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return {{x0, x1, x2, x3}};
}

// 64 bits and a number on [0, 1) for element i of what is drawn from counter `first` on.
inline std::uint64_t bits_of_element(std::uint64_t seed, std::uint64_t first, Word i) {
  const Block block = philox_block(seed, first + static_cast<std::uint64_t>(i) / 2);
  return i % 2 ? block.bits(1) : block.bits(0);
}
inline double unit_of_element(std::uint64_t seed, std::uint64_t first, Word i) {
  return static_cast<double>(bits_of_element(seed, first, i) >> 11) * 0x1p-53;
}

}  // namespace md::device_blocks
