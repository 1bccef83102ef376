// A NaN among gradients.
#include "ir/gradients/anomaly.h"

#include "ir/core/error.h"
#include "ir/tensor/readable.h"

namespace md {

AnomalySink*& anomaly_sink() {
  static AnomalySink* sink = nullptr;
  return sink;
}

namespace {
bool has_nan(const TensorRef& g) {
  OpCaller& caller = *tape_runner().caller;
  const GradMode off(false);
  const TensorRef any = caller.call(id::Any, {caller.call(id::IsNan, {g})}).get<TensorRef>();
  return any->has_memory() && *readable(any)->as<bool>();
}
}  // namespace

void expect_no_nan(const GradNode& node, std::span<const TensorRef> gradients) {
  if (!anomaly_mode.check_nan) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i] || !has_nan(gradients[i])) continue;
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Function '{}' returned nan values in its {}th output.", node.name(), i));
  }
}

}  // namespace md
