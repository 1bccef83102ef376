// What a profile sees of ops that run eagerly: their names, and when they began and ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

struct ObservedOp {
  std::string name;
  std::int64_t start, end;  // nanoseconds of the steady clock
  std::uint64_t thread;
};

inline std::atomic<bool> ops_observed = false;
void observe_ops(bool on);
// Since the last time they were taken, in the order in which they ended.
std::vector<ObservedOp> take_observed_ops();

// Around one call, where ops are observed.
class ObservedCall {
 public:
  explicit ObservedCall(const Op& op) : op_(ops_observed.load(std::memory_order_relaxed) ? &op : nullptr) {
    if (op_) [[unlikely]]
      begin();
  }
  ~ObservedCall() {
    if (op_) [[unlikely]]
      end();
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

 private:
  void begin();
  void end() noexcept;
  const Op* op_;
  std::int64_t start_ = 0;
};

}  // namespace md
