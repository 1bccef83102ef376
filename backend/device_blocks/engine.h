// Single ops on tensors of a GPU, by kernels compiled ahead of time.
#pragma once

#include "ir/reference/engine.h"

namespace md::device_blocks {

class DeviceEngine final : public Engine {
 public:
  void run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) override;
  bool run_dynamic(const Op& op, std::span<const Arg> args, std::vector<TensorRef>& made) override;
};

// For DeviceType::Cuda. Registers only.
void install_device_engine();

}  // namespace md::device_blocks
