// Rows of sums, one for each part and thread: written by that thread alone, without a lock, and read by others.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "ir/run/observed_parts.h"

namespace md {

// Ticks of cost_clock(): of the processor, where they are steady, else nanoseconds.
struct CostRow {
  const PartSite* site = nullptr;
  const CostRow* next = nullptr;
  std::atomic<std::int64_t> calls{0}, measured{0};
  std::atomic<double> ticks{0}, own{0};
  int depth = 0;             // of recursion
  std::uint32_t random = 1;  // how many calls go by
};

struct ThreadCosts {
  std::vector<std::unique_ptr<CostRow>> rows;  // by site
  std::atomic<const CostRow*> newest{nullptr};
  double inside = 0;       // ticks so far of regions, plain frames, breaks and compilations below the innermost one
  double work_inside = 0;  // the same of ops and kernels
  const PartSite* region = nullptr;  // the innermost measured one
  std::uint64_t id = 0;
  int place = 0, shown = 0;  // how many threads were before it; parts of it in the time line
};

ThreadCosts* costs_here();                                   // null: the thread ends. Throws std::bad_alloc
CostRow& row_of(ThreadCosts& thread, const PartSite& site);  // throws std::bad_alloc
std::uint64_t cost_clock();
// Puts the part that has just ended into the time line, if it has a place there.
void show_part(ThreadCosts& thread, const PartSite& site, std::uint64_t start, std::uint64_t end);
void begin_costs();  // the clocks are compared from now on

}  // namespace md
