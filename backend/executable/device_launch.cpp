// Sizes become words of a launch.
#include "backend/executable/device_launch.h"

#include <cstring>

#include "backend/device/launch.h"

namespace md {

DeviceLaunch::DeviceLaunch(const GpuKernel& kernel, int device, const std::function<std::int64_t(Size)>& value,
                           const std::string& line)
    : module_(device::load_module(kernel.code, device)),
      line_(line.empty() ? nullptr : device::kept_name(line)),
      value_bytes_(kernel.value_bytes),
      device_(device),
      can_fail_(kernel.can_fail) {
  function_ = &module_->function(kernel.entry);
  const std::int64_t rows = value(kernel.rows), cols = value(kernel.cols);
  shape_ = launch_shape(kernel.schedule, rows, cols, value(kernel.folded));
  words_.resize(static_cast<std::size_t>(kernel.buffers));
  const auto add = [&](std::int64_t word) { words_.push_back(static_cast<std::uint64_t>(word)); };
  for (const Size& s : kernel.params) add(value(s));
  add(rows), add(cols), add(0);
}

void DeviceLaunch::run(std::span<void* const> buffers) const {
  const StreamNumber stream = device_runtime(DeviceType::Cuda)->current_stream(device_);
  SmallVector<std::uint64_t, 48> words;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t word = words_[i];
    if (i < buffers.size() && value_bytes_[i])
      std::memcpy(&word, buffers[i], value_bytes_[i]);
    else if (i < buffers.size())
      word = reinterpret_cast<std::uint64_t>(buffers[i]);
    words.push_back(word);
  }
  if (can_fail_) words.back() = device::expect_status(*function_, stream);
  device::launch(*function_, shape_, {words.data(), words.size()}, stream, line_);
}

}  // namespace md
