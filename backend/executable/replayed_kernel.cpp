// The kernel runs as it is; what it gives to the device is kept back meanwhile.
#include "backend/executable/replayed_kernel.h"

#include <algorithm>
#include <utility>

#include "backend/device/replay.h"
#include "ir/core/error.h"

namespace md {
namespace {

class ReplayedKernel final : public Kernel {
 public:
  ReplayedKernel(std::unique_ptr<Kernel> kernel, int device, std::string name)
      : kernel_(std::move(kernel)), replay_(device), name_(std::move(name)) {}

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    try {
      device::LaunchReplay::Run run(replay_);
      kernel_->run(inputs, outputs);
      run.finish();
    } catch (...) {
      std::ranges::fill(outputs, nullptr);
      throw;
    }
    if (replay_.has_notes()) [[unlikely]]
      for (const device::ReplayNote& n : replay_.take_notes()) tell_replay({name_, n.launches, n.why, n.kernels});
  }
  bool records_gradients() const override { return kernel_->records_gradients(); }

 private:
  const std::unique_ptr<Kernel> kernel_;  // its code outlives the graphs: they go first
  device::LaunchReplay replay_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> replayed_kernel(std::unique_ptr<Kernel> kernel, int device, std::string name) {
  return std::make_unique<ReplayedKernel>(std::move(kernel), device, std::move(name));
}

}  // namespace md
