// Parts that were observed, until a profile takes them.
#include "ir/run/observed_parts.h"

#include <pthread.h>

#include <chrono>
#include <mutex>
#include <utility>

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

}  // namespace

void observe_parts(bool on) { parts_observed.store(on); }

std::vector<ObservedPart> take_observed_parts() {
  const std::lock_guard hold(observed_lock);
  return std::exchange(observed(), {});
}

void Observed::begin(PartKind kind, std::string name) {
  part_ = std::make_unique<ObservedPart>(
      ObservedPart{kind, std::move(name), steady_now(), 0, static_cast<std::uint64_t>(pthread_self())});
}

void Observed::end() noexcept {
  try {
    part_->end = steady_now();
    const std::lock_guard hold(observed_lock);
    observed().push_back(std::move(*part_));
  } catch (...) {  // without memory one part is missing in the profile
  }
}

}  // namespace md
