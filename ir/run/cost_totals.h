// What a run costs: sums by part and thread, kept while somebody wants them, and a bounded time line.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/run/observed_parts.h"

namespace md {

struct CostTotal {
  const PartSite* site;
  const PartSite* region;  // of a kernel; or null
  std::int64_t calls = 0;
  double seconds = 0;      // with what it calls
  double own_seconds = 0;  // without the regions, plain frames, breaks and compilations inside; of ops and kernels:
                           // without those inside
  int threads = 0;
};
// Of each site that has run. With the interpreter's lock held counts are exact.
std::vector<CostTotal> cost_totals();

struct TimedPart {
  const PartSite* site;
  const PartSite* region;
  double start, seconds;  // start: seconds of the steady clock
  std::uint64_t thread;
};
// The time line, since it was taken last: the first runs of each part, long ones, and stretches of all of them, which
// become rarer the longer a process runs.
std::vector<TimedPart> take_timed_parts();
// How many were measured and are not in it, and how often something was measured at all (an estimate of what that cost
// follows from it).
struct CostCounts {
  std::int64_t parts_left_out = 0, measured = 0;
};
CostCounts cost_counts();
// Seconds that measuring one part takes, measured now.
double seconds_of_measuring();
// Bytes a second, read and written, of copying a large array with the threads a kernel has. Takes some milliseconds.
// Throws std::bad_alloc.
double copy_bandwidth();

}  // namespace md
