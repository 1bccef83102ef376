// Threads and their rows, the clock, the time line, and the sums over all of it.
#include "ir/run/cost_totals.h"

#include <cpuid.h>
#include <pthread.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

#include "ir/run/cost_rows.h"

namespace md {
namespace {

std::atomic<const PartSite*> newest_site{nullptr};
std::atomic<std::uint32_t> sites_made{0};

std::int64_t clock_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whether the processor's counter goes on at one pace on all cores.
bool has_steady_ticks() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
bool steady_ticks = false;  // asked when the first costs begin

struct Sums {
  std::int64_t calls = 0, measured = 0;
  double ticks = 0, own = 0;
  int threads = 0;

  void add(const CostRow& row) {
    calls += row.calls.load(std::memory_order_relaxed);
    measured += row.measured.load(std::memory_order_relaxed);
    ticks += row.ticks.load(std::memory_order_relaxed);
    own += row.own.load(std::memory_order_relaxed);
    ++threads;
  }
};

constexpr int kMostParts = 20000;
constexpr int kKeptForFirsts = 5000;                    // of the time line: only for what was not seen before
constexpr int kFirsts = 3;                              // runs of each part that are always shown
constexpr int kThreadsShown = 64, kShownOfThread = 16;  // the first parts of the first threads are shown, too
constexpr int kStretch = 64;                            // parts shown one after the other
constexpr double kLongPart = 0.02;                      // seconds
constexpr double kSparseAfter = 60.0;                   // seconds in which about two thirds of the places would be used

struct Process {
  std::mutex lock;
  std::vector<ThreadCosts*> threads;
  int threads_begun = 0;
  std::vector<Sums> ended;  // by site: of threads that are gone
  std::vector<TimedPart> parts;
  std::atomic<int> places{kMostParts};
  // Of the time line. Which thread of several takes a place matters little.
  std::atomic<std::uint64_t> next_stretch{0};
  std::atomic<int> stretch_left{0};
  Process* forked_from = nullptr;
};
// A forked child begins with another one: the lock may be held by a thread that the child does not have.
std::atomic<Process*> process{nullptr};
Process& costs_of_process() { return *process.load(std::memory_order_acquire); }

// Two moments on both clocks: how long a tick is.
std::atomic<std::uint64_t> first_ticks{0};
std::atomic<std::int64_t> first_nanoseconds{0};

// The two clocks at one moment: the closest look of some.
struct BothClocks {
  std::uint64_t ticks = 0;
  std::int64_t nanoseconds = 0;
  BothClocks() {
    std::uint64_t closest = ~std::uint64_t{0};
    for (int k = 0; k < 5; ++k) {
      const std::uint64_t before = cost_clock();
      const std::int64_t now = clock_nanoseconds();
      const std::uint64_t around = cost_clock() - before;
      if (around >= closest) continue;
      closest = around, ticks = before + around / 2, nanoseconds = now;
    }
  }
};

struct ClockRate {
  double seconds_per_tick = 1e-9;
  double seconds = static_cast<double>(first_nanoseconds.load()) * 1e-9;
  ClockRate() {
    const BothClocks now;
    const auto ticks = static_cast<double>(static_cast<std::int64_t>(now.ticks - first_ticks.load()));
    const auto passed = static_cast<double>(now.nanoseconds - first_nanoseconds.load());
    if (ticks > 0 && passed > 0) seconds_per_tick = passed * 1e-9 / ticks;
  }
  double length(double count) const { return count * seconds_per_tick; }
  double moment(double since_first) const { return seconds + since_first * seconds_per_tick; }
};

thread_local ThreadCosts* here = nullptr;
thread_local bool thread_ends = false;

// The rows of a thread that ends are added to those of others before it.
struct AtThreadEnd {
  ~AtThreadEnd() {
    thread_ends = true;
    ThreadCosts* const mine = std::exchange(here, nullptr);
    if (!mine) return;
    Process& p = costs_of_process();
    const std::lock_guard hold(p.lock);
    if (std::erase(p.threads, mine) == 0) return;  // of the process that was forked
    try {
      p.ended.resize(std::max<std::size_t>(p.ended.size(), mine->rows.size()));
      for (const CostRow* row = mine->newest; row; row = row->next) p.ended[row->site->index].add(*row);
    } catch (...) {  // without memory its times are lost
    }
    delete mine;
  }
};

void begin_in_child() {
  if (!process.load()) return;
  auto* const fresh = new (std::nothrow) Process;
  if (!fresh) return;
  fresh->forked_from = process.load();
  process.store(fresh);
  here = nullptr;
  for (const PartSite* s = newest_part_site(); s; s = s->next) {
    s->let_pass(0);
    s->shown.store(0, std::memory_order_relaxed);
  }
}

ThreadCosts* begin_thread() {
  if (thread_ends) return nullptr;
  static thread_local AtThreadEnd at_end;
  (void)at_end;
  auto made = std::make_unique<ThreadCosts>();
  made->id = static_cast<std::uint64_t>(pthread_self());
  Process& p = costs_of_process();
  const std::lock_guard hold(p.lock);
  p.threads.push_back(made.get());
  made->place = p.threads_begun++;
  return here = made.release();
}

// With the lock held.
std::vector<Sums> sums_by_site(Process& p) {
  std::vector<Sums> sums = p.ended;
  sums.resize(std::max<std::size_t>(sums.size(), sites_made.load()));
  for (const ThreadCosts* t : p.threads)
    for (const CostRow* row = t->newest.load(std::memory_order_acquire); row; row = row->next)
      if (row->site->index < sums.size()) sums[row->site->index].add(*row);
  return sums;
}

bool is_shown(PartKind kind) { return kind != PartKind::Guards && kind != PartKind::Rest && kind != PartKind::Compile; }

// Whether there is a place for the part, given how many are left.
bool has_place(Process& p, const ThreadCosts& thread, const PartSite& site, std::uint64_t start, std::uint64_t end) {
  const int places = p.places.load(std::memory_order_relaxed);
  if (places <= 0) return false;
  if (places > kKeptForFirsts && site.shown.load(std::memory_order_relaxed) < kFirsts) return true;
  if (thread.place < kThreadsShown && thread.shown < kShownOfThread) return true;
  const double tick = steady_ticks ? 4e-10 : 1e-9;  // about
  if (static_cast<double>(end - start) * tick > kLongPart) return true;
  if (const int left = p.stretch_left.load(std::memory_order_relaxed); left > 0) {
    p.stretch_left.store(left - 1, std::memory_order_relaxed);
    return true;
  }
  if (end < p.next_stretch.load(std::memory_order_relaxed)) return false;
  p.stretch_left.store(kStretch - 1, std::memory_order_relaxed);
  p.next_stretch.store(end + static_cast<std::uint64_t>(kStretch * kSparseAfter / places / tick),
                       std::memory_order_relaxed);
  return true;
}

}  // namespace

std::uint64_t cost_clock() { return steady_ticks ? __rdtsc() : static_cast<std::uint64_t>(clock_nanoseconds()); }

const PartSite& new_part_site(PartName name) {
  auto* const site = new PartSite(std::move(name), sites_made.fetch_add(1));
  site->next = newest_site.load();
  while (!newest_site.compare_exchange_weak(site->next, site)) {
  }
  return *site;
}
const PartSite* newest_part_site() { return newest_site.load(); }

void begin_costs() {
  if (process.load()) return;
  steady_ticks = has_steady_ticks();
  const BothClocks now;
  first_ticks = now.ticks;
  first_nanoseconds = now.nanoseconds;
  auto* const made = new Process;
  Process* none = nullptr;
  if (!process.compare_exchange_strong(none, made))
    delete made;
  else
    pthread_atfork(nullptr, nullptr, begin_in_child);
}

ThreadCosts* costs_here() { return here ? here : begin_thread(); }

CostRow& row_of(ThreadCosts& thread, const PartSite& site) {
  if (site.index < thread.rows.size())
    if (CostRow* row = thread.rows[site.index].get()) return *row;
  auto made = std::make_unique<CostRow>();
  made->site = &site;
  made->next = thread.newest.load(std::memory_order_relaxed);
  if (site.index >= thread.rows.size())
    thread.rows.resize(std::max<std::size_t>(site.index + 1, thread.rows.size() + thread.rows.size() / 2));
  thread.newest.store(made.get(), std::memory_order_release);
  return *(thread.rows[site.index] = std::move(made));
}

void show_part(ThreadCosts& thread, const PartSite& site, std::uint64_t start, std::uint64_t end) {
  if (!is_shown(site.about.kind)) return;
  Process& p = costs_of_process();
  if (!has_place(p, thread, site, start, end) || p.places.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  site.shown.fetch_add(1, std::memory_order_relaxed);
  ++thread.shown;
  const std::lock_guard hold(p.lock);
  // Ticks: they become seconds when they are read.
  p.parts.push_back({&site, site.region.load(std::memory_order_relaxed),
                     static_cast<double>(static_cast<std::int64_t>(start - first_ticks.load())),
                     static_cast<double>(end - start), thread.id});
}

std::vector<CostTotal> cost_totals() {
  std::vector<CostTotal> totals;
  if (!process.load()) return totals;
  Process& p = costs_of_process();
  std::vector<Sums> sums;
  {
    const std::lock_guard hold(p.lock);
    sums = sums_by_site(p);
  }
  const ClockRate rate;
  for (const PartSite* s = newest_part_site(); s; s = s->next) {
    if (s->index >= sums.size() || !sums[s->index].calls) continue;
    if (s->about.kind == PartKind::Guards && s->about.file.empty()) continue;  // seconds_of_measuring()
    const Sums& sum = sums[s->index];
    const std::uint32_t passed = s->passed();
    const double own = rate.length(sum.own + passed * s->mean_own.load(std::memory_order_relaxed));
    const double whole = rate.length(sum.ticks + passed * s->mean.load(std::memory_order_relaxed));
    totals.push_back(
        {s, s->region.load(std::memory_order_relaxed), sum.calls + passed, std::max(whole, own), own, sum.threads});
  }
  std::ranges::reverse(totals);  // the oldest first
  return totals;
}

std::vector<TimedPart> take_timed_parts() {
  std::vector<TimedPart> parts;
  if (!process.load()) return parts;
  Process& p = costs_of_process();
  {
    const std::lock_guard hold(p.lock);
    parts = std::exchange(p.parts, {});
  }
  const ClockRate rate;
  for (TimedPart& part : parts) {
    part.start = rate.moment(part.start);
    part.seconds = rate.length(part.seconds);
  }
  return parts;
}

CostCounts cost_counts() {
  CostCounts counts;
  if (!process.load()) return counts;
  Process& p = costs_of_process();
  const std::lock_guard hold(p.lock);
  const std::vector<Sums> sums = sums_by_site(p);
  for (const PartSite* s = newest_part_site(); s; s = s->next) {
    if (s->index >= sums.size()) continue;
    const Sums& sum = sums[s->index];
    counts.measured += sum.measured;
    if (is_shown(s->about.kind))
      counts.parts_left_out += sum.calls + s->passed() - s->shown.load(std::memory_order_relaxed);
  }
  return counts;
}

double seconds_of_measuring() {
  if (!process.load()) return 0;
  constexpr int kTimes = 32;
  static const SiteSlot nothing;
  const auto name = [] { return PartName{.kind = PartKind::Guards, .name = "", .function = "", .file = ""}; };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of some rounds: others may have the processor
  for (int round = 0; round < 8; ++round) {
    const std::int64_t start = clock_nanoseconds();
    for (int k = 0; k < kTimes; ++k) {
      nothing.get(name)->let_pass(0);
      const Observed one([] { return &nothing; }, name);
    }
    least = std::min(least, clock_nanoseconds() - start);
  }
  return static_cast<double>(least) * 1e-9 / kTimes;
}

}  // namespace md
