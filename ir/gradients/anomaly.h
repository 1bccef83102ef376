// Anomaly mode: nodes keep where in the program their call was made, and backward() says so when one of them fails.
#pragma once

#include <atomic>

#include "ir/gradients/tape.h"

namespace md {

// Of all threads.
struct AnomalyMode {
  std::atomic<bool> on = false, check_nan = true;
};
inline AnomalyMode anomaly_mode;
inline bool anomaly_enabled() { return anomaly_mode.on.load(std::memory_order_relaxed); }

// What knows the program's stack.
class AnomalySink {
 public:
  virtual ~AnomalySink() = default;
  // For the metadata of a node that is being made; `during` is the node whose backward() makes it, if any.
  virtual Ref<RefCounted> created(GradNode* during) = 0;
  // An exception is on its way out of the node's backward().
  virtual void failed(GradNode& node) = 0;
};
AnomalySink*& anomaly_sink();

// Throws OpError(Runtime) for a NaN among the gradients that `node` gave, if that is asked for.
void expect_no_nan(const GradNode& node, std::span<const TensorRef> gradients);

}  // namespace md
