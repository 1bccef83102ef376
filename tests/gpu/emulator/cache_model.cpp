// Sets that are kept in the order of their use.
#include "cache_model.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace emulated {
namespace {

constexpr std::size_t kUsualBytes = std::size_t{4} << 20;

// Sectors that are a power of two apart are not all of one set.
std::uint64_t scattered(std::uint64_t sector) { return (sector * 0x9e37'79b9'7f4a'7c15u) >> 32; }

}  // namespace

CacheModel::CacheModel(std::size_t bytes)
    : sets_(std::bit_floor(std::max<std::size_t>(bytes / kSectorBytes / kWays, 1))) {
  forget();
}

std::size_t CacheModel::bytes_from_environment() {
  const char* text = std::getenv("MINIDYNAMO_EMULATOR_CACHE");
  char* end = nullptr;
  const std::size_t bytes = text ? std::strtoull(text, &end, 10) : 0;
  return !bytes || *end ? kUsualBytes : bytes;
}

void CacheModel::forget() {
  const std::lock_guard lock(mutex_);
  for (Set& set : sets_) set.sectors.fill(0), set.dirty = 0;
}

CacheModel::Traffic CacheModel::access(const std::uint64_t* sectors, std::size_t count, bool reads, bool writes) {
  Traffic made;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t sector = sectors[i] + 1;
    Set& set = sets_[scattered(sector) & (sets_.size() - 1)];
    const auto found = std::find(set.sectors.begin(), set.sectors.end(), sector);
    const bool hit = found != set.sectors.end();
    const auto way = hit ? static_cast<std::size_t>(found - set.sectors.begin()) : kWays - 1;
    bool dirty = hit && (set.dirty >> way & 1);
    if (reads && !hit) ++made.read;
    if (writes && !dirty) ++made.written, dirty = true;
    std::copy_backward(set.sectors.begin(), set.sectors.begin() + static_cast<std::ptrdiff_t>(way),
                       set.sectors.begin() + static_cast<std::ptrdiff_t>(way) + 1);
    const std::uint32_t before = set.dirty & ((1u << way) - 1), behind = set.dirty & ~((2u << way) - 1);
    set.sectors[0] = sector;
    set.dirty = before << 1 | behind | (dirty ? 1u : 0u);
  }
  return made;
}

}  // namespace emulated
