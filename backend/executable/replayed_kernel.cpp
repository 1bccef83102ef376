// The kernel runs as it is; what it gives to the device is kept back meanwhile.
#include "backend/executable/replayed_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/device/replay.h"
#include "ir/core/error.h"
#include "ir/tensor/device_generators.h"

namespace md {
namespace {

class ReplayedKernel final : public Kernel {
 public:
  ReplayedKernel(std::unique_ptr<Kernel> kernel, int device, std::string name, ReplayEffects effects)
      : kernel_(std::move(kernel)), replay_(device, effects.writes), name_(std::move(name)), draws_(effects.draws) {}

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    std::optional<DefaultStreams> before;
    if (draws_) before.emplace();
    try {
      device::LaunchReplay::Run run(replay_);
      kernel_->run(inputs, outputs);
      run.finish();
    } catch (const FailedAfterWrite&) {  // not repeated: what was drawn stays drawn
      std::ranges::fill(outputs, nullptr);
      throw;
    } catch (...) {
      if (before) before->put_back();  // the run is repeated eagerly
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
  const bool draws_;
};

}  // namespace

std::unique_ptr<Kernel> replayed_kernel(std::unique_ptr<Kernel> kernel, int device, std::string name,
                                        ReplayEffects effects) {
  return std::make_unique<ReplayedKernel>(std::move(kernel), device, std::move(name), effects);
}

}  // namespace md
