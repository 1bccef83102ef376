// Calls of ops that were observed.
#include "ir/run/op_observer.h"

#include <pthread.h>

#include <chrono>
#include <mutex>

namespace md {
namespace {

std::mutex observed_lock;
std::vector<ObservedOp>& observed() {
  static auto* const list = new std::vector<ObservedOp>;
  return *list;
}
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void observe_ops(bool on) { ops_observed.store(on); }

std::vector<ObservedOp> take_observed_ops() {
  const std::lock_guard hold(observed_lock);
  return std::exchange(observed(), {});
}

void ObservedCall::begin() { start_ = now(); }
void ObservedCall::end() noexcept {
  try {
    const std::int64_t ended = now();
    const std::lock_guard hold(observed_lock);
    observed().push_back({op_->public_name, start_, ended, static_cast<std::uint64_t>(pthread_self())});
  } catch (...) {  // without memory one call is missing in the profile
  }
}

}  // namespace md
