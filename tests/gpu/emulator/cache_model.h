// A model of the cache between an emulated device's multiprocessors and its memory: which of the sectors that accesses
// touch have to come from memory, and which have to go there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace emulated {

inline constexpr unsigned kSectorBytes = 32;

// Sets of 16 sectors, of which the one goes that was used longest ago. Sectors are seen in the order in which the host
// runs the warps, which is block after block: a device that runs many blocks at once keeps less for each of them. A
// sector that is written is not read before; it goes to memory once for as long as it stays.
class CacheModel {
 public:
  explicit CacheModel(std::size_t bytes);
  // MINIDYNAMO_EMULATOR_CACHE, in bytes; without, 4 MiB, which a small card has.
  static std::size_t bytes_from_environment();

  struct Traffic {
    std::uint64_t read = 0, written = 0;  // sectors
  };
  // `sectors` are numbers of sectors, each once.
  Traffic load(const std::uint64_t* sectors, std::size_t count) { return access(sectors, count, true, false); }
  Traffic store(const std::uint64_t* sectors, std::size_t count) { return access(sectors, count, false, true); }
  Traffic exchange(const std::uint64_t* sectors, std::size_t count) { return access(sectors, count, true, true); }
  void forget();

 private:
  static constexpr std::size_t kWays = 16;
  struct Set {
    std::array<std::uint64_t, kWays> sectors;  // the last used one first; 0: none
    std::uint32_t dirty = 0;                   // a bit for each
  };
  Traffic access(const std::uint64_t* sectors, std::size_t count, bool reads, bool writes);

  std::mutex mutex_;
  std::vector<Set> sets_;
};

}  // namespace emulated
