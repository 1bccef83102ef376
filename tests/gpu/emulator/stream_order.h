// Where work stands in the order of streams, for races between them: what comes before it whatever happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulated {

struct StreamOrder {
  std::size_t stream = 0;             // its number
  std::uint64_t count = 0;            // of the work, among the stream's
  std::vector<std::uint64_t> before;  // by number of a stream: how much of its work comes before, or is this
  bool comes_after(std::size_t other, std::uint64_t work) const {
    return other == stream || work == 0 || (other < before.size() && before[other] >= work);
  }
  void take(const std::vector<std::uint64_t>& other) {  // all of that comes before, too
    if (before.size() < other.size()) before.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i)
      if (before[i] < other[i]) before[i] = other[i];
  }
};

// Of the work that this thread does; null: nobody knows, and nothing is looked for.
inline thread_local const StreamOrder* order_of_work = nullptr;

}  // namespace emulated
