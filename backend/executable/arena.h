// Where the temporaries of an executable lie in one block of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/core/error.h"

namespace md {

// Nothing of 2^62 bytes or more is ever there: sums of two such numbers fit.
inline std::int64_t below_limit(std::int64_t bytes) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  if (bytes >= kLimit)
    throw OpError(ErrorKind::Memory, "not enough memory: tried to allocate " + std::to_string(bytes) + " bytes");
  return bytes;
}

inline std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64;
  return (below_limit(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

// Temporaries that are never needed at the same time share memory: first fit over blocks in use.
class Arena {
 public:
  std::int64_t place(std::int64_t bytes, int first, int last) {
    std::int64_t at = 0;
    for (const Block& b : blocks_) {  // sorted by offset
      if (b.last < first || b.offset + b.bytes <= at) continue;
      if (b.offset >= at + bytes) break;
      at = below_limit(b.offset + b.bytes);
    }
    const auto where = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.offset >= at; });
    blocks_.insert(where, {at, bytes, last});
    total_ = std::max(total_, at + bytes);
    return at;
  }
  std::int64_t total() const { return total_; }

 private:
  struct Block {
    std::int64_t offset, bytes;
    int last;
  };
  std::vector<Block> blocks_;
  std::int64_t total_ = 0;
};

}  // namespace md
