// What can be measured of a program below Python: ops that run by themselves, compiled regions and their kernels,
// instructions that break a graph, frames that run as plain Python, and machine code being made. A profile gets a list
// of parts with their times; totals of what a run costs (cost_totals.h) get sums.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace md {

enum class PartKind : std::uint8_t {
  Op,
  Region,  // the run of an entry
  Kernel,
  Break,  // a breaking instruction, executed as Python
  MachineCode,
  Plain,    // a frame that runs as plain Python though a compilation was asked for
  Rest,     // what follows a break, up to the end of the function: its parts, and what is between them
  Compile,  // a miss: counts in events, and is no part of what surrounds it
  Guards,   // looking for an entry that fits
};

// What a part is. Made when it is first measured.
struct PartName {
  PartKind kind;
  std::string name;            // of an op, kernel or graph; of a break its code and place
  std::string function, file;  // of the program, where they are known
  int line = 0;
  int column = -1, end_line = -1, end_column = -1;
  std::string compile_id;
  std::int64_t bytes = 0;  // a kernel reads and writes in each call
};

// A part of the program that is measured whenever it runs. It lives as long as the process: what it names may be gone
// when its times are read. Most of it is changed with the interpreter's lock held, which makes counts exact; none of it
// needs that.
class PartSite {
 public:
  PartSite(PartName name, std::uint32_t number) : index(number), about(std::move(name)) {}

  // Of calls too short to measure each of them some pass by. True: this one does.
  bool lets_pass() const {
    const std::uint32_t n = left_.load(std::memory_order_relaxed);
    if (n == 0) return false;
    left_.store(n - 1, std::memory_order_relaxed);
    return true;
  }
  std::uint32_t passed() const {  // since one was measured
    return passing_.load(std::memory_order_relaxed) - left_.load(std::memory_order_relaxed);
  }
  void let_pass(std::uint32_t calls) const {
    passing_.store(calls, std::memory_order_relaxed);
    left_.store(calls, std::memory_order_relaxed);
  }

 private:
  mutable std::atomic<std::uint32_t> left_{0}, passing_{0};

 public:
  const std::uint32_t index;                             // rows of threads are found by it
  mutable std::atomic<int> shown{0};                     // in the time line
  mutable std::atomic<double> mean{0}, mean_own{0};      // ticks
  mutable std::atomic<const PartSite*> region{nullptr};  // a kernel's
  const PartSite* next = nullptr;
  const PartName about;
};

const PartSite& new_part_site(PartName name);  // throws std::bad_alloc
const PartSite* newest_part_site();            // and by `next` all others

// Where the site is kept by what it names. A copy begins with none.
class SiteSlot {
 public:
  SiteSlot() = default;
  SiteSlot(const SiteSlot&) noexcept {}
  SiteSlot& operator=(const SiteSlot&) noexcept { return *this; }

  bool lets_pass() const {
    const PartSite* known = site_.load(std::memory_order_acquire);
    return known && known->lets_pass();
  }
  template <std::invocable Make>
  const PartSite* get(const Make& make) const {
    if (const PartSite* known = site_.load(std::memory_order_acquire)) return known;
    const PartSite* made = &new_part_site(make());
    const PartSite* other = nullptr;
    return site_.compare_exchange_strong(other, made, std::memory_order_acq_rel) ? made : other;
  }

 private:
  mutable std::atomic<const PartSite*> site_{nullptr};
};

// Who wants to know: bits.
inline constexpr std::uint8_t kForProfile = 1, kForCosts = 2;
inline std::atomic<std::uint8_t> parts_observed = 0;
void observe_parts(std::uint8_t who, bool on);
inline bool is_anything_observed() { return parts_observed.load(std::memory_order_relaxed) != 0; }

struct ObservedPart {
  const PartSite* site;
  std::int64_t start, end;  // nanoseconds of the steady clock
  std::uint64_t thread;
};
// For profiles: since the last time they were taken, in the order in which they ended.
std::vector<ObservedPart> take_observed_parts();

struct ThreadCosts;
struct CostRow;

// Around one part: `slot()` is where its site is kept, or null; `make()` says what it is when it has none yet. Both are
// only asked where somebody observes.
class Observed {
 public:
  template <std::invocable Slot, std::invocable Make>
  Observed(const Slot& slot, const Make& make) {
    if (const std::uint8_t who = parts_observed.load(std::memory_order_relaxed)) [[unlikely]] {
      const SiteSlot* const kept = slot();
      if (kept && !(who == kForCosts && kept->lets_pass())) begin_with(who, *kept, make);
    }
  }
  ~Observed() {
    if (row_) [[unlikely]]
      end();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  template <std::invocable Make>
  [[gnu::noinline]] void begin_with(std::uint8_t who, const SiteSlot& slot, const Make& make) noexcept {
    try {
      begin(who, *slot.get(make));
    } catch (...) {  // without memory one part is missing
    }
  }
  void begin(std::uint8_t who, const PartSite& site);
  void end() noexcept;

  CostRow* row_ = nullptr;
  ThreadCosts* thread_;
  std::uint64_t start_;
  std::int64_t started_;  // as profiles have it
  double inside_;         // of what surrounds it
  const PartSite* region_;
  std::uint32_t passed_;  // calls that were let pass before it
  std::uint8_t who_;
};

}  // namespace md
