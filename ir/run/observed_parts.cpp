// One part is measured: two looks at the clock and sums of its thread.
#include "ir/run/observed_parts.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "ir/run/cost_rows.h"
#include "ir/run/observed_ops.h"

namespace md {
namespace {

std::mutex observed_lock;
std::vector<ObservedPart>& observed() {
  static auto* const list = new std::vector<ObservedPart>;
  return *list;
}
std::int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whoever is in a part of these kinds is not in what surrounds it.
bool is_leaf_work(PartKind kind) { return kind == PartKind::Op || kind == PartKind::Kernel; }
bool counts_apart(PartKind kind) {
  return kind != PartKind::MachineCode && kind != PartKind::Guards && !is_leaf_work(kind);
}
bool is_for_profiles(PartKind kind) { return kind <= PartKind::MachineCode; }

template <class T, class By>
void add(std::atomic<T>& sum, By by) {  // of one thread
  sum.store(sum.load(std::memory_order_relaxed) + static_cast<T>(by), std::memory_order_relaxed);
}

// After so many calls those of a part that takes less than this are measured now and then only, at last one in 8 to 23,
// of very short ones one in 32 to 95.
constexpr std::int64_t kMeasuredAtFirst = 32;
constexpr double kShort = 10'000, kVeryShort = 1'000;  // ticks

std::uint32_t calls_to_pass(CostRow& row, std::int64_t measured, double mean) {
  const std::int64_t at_last = mean < kVeryShort ? 64 : 16;
  const auto most = static_cast<std::uint32_t>(std::min(measured / 16, at_last));
  row.random = row.random * 1664525 + 1013904223;
  return most / 2 + (row.random >> 16) % most;
}

// One call stands for `passed` others: an outlier does not.
void note_means(const PartSite& site, std::int64_t measured, double ticks, double own) {
  const double mean = site.mean.load(std::memory_order_relaxed),
               mean_own = site.mean_own.load(std::memory_order_relaxed);
  const double share = measured < 16 ? 1.0 / static_cast<double>(measured) : 1.0 / 16;
  const double most = measured < 16 ? ticks : 16 * mean;
  site.mean.store(mean + (std::min(ticks, most) - mean) * share, std::memory_order_relaxed);
  site.mean_own.store(mean_own + (std::min(own, most) - mean_own) * share, std::memory_order_relaxed);
}

}  // namespace

void observe_parts(std::uint8_t who, bool on) {
  if (!on) {
    parts_observed.fetch_and(static_cast<std::uint8_t>(~who));
    return;
  }
  begin_costs();
  parts_observed.fetch_or(who);
}

std::vector<ObservedPart> take_observed_parts() {
  const std::lock_guard hold(observed_lock);
  return std::exchange(observed(), {});
}

const SiteSlot* op_slot(const Op& op) {
  static auto* const slots = new std::vector<SiteSlot>(all_ops().size());
  return &(*slots)[static_cast<std::size_t>(op.id)];
}

PartName name_of_op(const Op& op) { return {.kind = PartKind::Op, .name = op.public_name, .function = "", .file = ""}; }

void Observed::begin(std::uint8_t who, const PartSite& site) {
  ThreadCosts* const thread = costs_here();
  if (!thread) return;
  CostRow& row = row_of(*thread, site);
  const PartKind kind = site.about.kind;
  double& inside = is_leaf_work(kind) ? thread->work_inside : thread->inside;
  inside_ = std::exchange(inside, 0);
  region_ = thread->region;
  if (kind == PartKind::Region) thread->region = &site;
  ++row.depth;
  thread_ = thread;
  row_ = &row;
  who_ = who;
  passed_ = site.passed();
  site.let_pass(0);
  started_ = who & kForProfile ? steady_now() : 0;
  start_ = cost_clock();
}

void Observed::end() noexcept {
  const std::uint64_t stop = cost_clock();
  CostRow& row = *row_;
  const PartSite& site = *row.site;
  const PartKind kind = site.about.kind;
  const double ticks = stop > start_ ? static_cast<double>(stop - start_) : 0;
  const double passed = passed_;
  double& inside = is_leaf_work(kind) ? thread_->work_inside : thread_->inside;
  const bool apart = counts_apart(kind);
  const double own = apart || is_leaf_work(kind) ? std::max(0.0, ticks - inside) : ticks;
  const double passed_own = passed * site.mean_own.load(std::memory_order_relaxed);
  add(row.calls, 1 + passed);
  add(row.measured, 1);
  add(row.own, own + passed_own);
  if (--row.depth == 0) add(row.ticks, ticks + passed * site.mean.load(std::memory_order_relaxed));
  if (apart || is_leaf_work(kind))
    inside = inside_ + ticks + passed_own;
  else
    inside += inside_;
  thread_->region = region_;
  const std::int64_t measured = row.measured.load(std::memory_order_relaxed);
  note_means(site, measured, ticks, own);
  if (kind == PartKind::Kernel && region_ && !site.region.load(std::memory_order_relaxed))
    site.region.store(region_, std::memory_order_relaxed);
  if (measured >= kMeasuredAtFirst && site.mean.load(std::memory_order_relaxed) < kShort)
    site.let_pass(calls_to_pass(row, measured, site.mean.load(std::memory_order_relaxed)));
  try {
    if ((who_ & kForProfile) && is_for_profiles(kind)) {
      const std::int64_t end = steady_now();
      const std::lock_guard hold(observed_lock);
      observed().push_back({&site, started_, end, static_cast<std::uint64_t>(pthread_self())});
    }
    if (who_ & kForCosts) show_part(*thread_, site, start_, stop);
  } catch (...) {  // without memory one part is missing in the profile
  }
}

}  // namespace md
