// Parameters are handed over as an array of pointers to words.
#include "backend/device/launch.h"

#include <utility>

#include "backend/device/context.h"
#include "backend/device/replay.h"
#include "backend/device/streams.h"
#include "ir/core/small_vector.h"

namespace md::device {
namespace {

thread_local const char* line_of_thread = nullptr;

void allow_shared(DeviceFunction& function, std::size_t bytes) {
  constexpr int kSharedAtMost = 8;
  std::size_t allowed = function.shared_allowed.load(std::memory_order_relaxed);
  if (bytes <= allowed) return;
  check(driver().function_set(function.handle, kSharedAtMost, static_cast<int>(bytes)), "cuFuncSetAttribute",
        function.device);
  while (allowed < bytes && !function.shared_allowed.compare_exchange_weak(allowed, bytes)) continue;
}

}  // namespace

void launch(DeviceFunction& function, const LaunchShape& shape, std::span<const std::uint64_t> words,
            StreamNumber number, const char* line) {
  const auto& [grid, block, shared_bytes] = shape;
  if (!grid[0] || !grid[1] || !grid[2]) return;
  DeviceState& state = use_device(function.device);
  allow_shared(function, shared_bytes);
  if (!line) line = line_of_thread;
  if (keep(function.device, number, {.function = &function, .shape = shape, .line = line}, words)) return;
  Stream& stream = state.streams->at(number);
  SmallVector<void*, 24> parameters;
  for (const std::uint64_t& w : words) parameters.push_back(const_cast<std::uint64_t*>(&w));
  const auto ask = [&] {
    return driver().launch(function.handle, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                           static_cast<unsigned>(shared_bytes), stream.handle, parameters.data(), nullptr);
  };
  Code code = ask();
  if (code && !is_lasting(code)) code = ask();
  check(code, "cuLaunchKernel", function.device, number);
  state.streams->note_launch(stream, function.name, line);  // an error of before is not this one's
  if (launches_are_waited_for() && !is_capturing(function.device, number)) synchronize_stream(function.device, number);
}

LineOfLaunches::LineOfLaunches(const char* line) : before_(std::exchange(line_of_thread, line)) {}
LineOfLaunches::~LineOfLaunches() { line_of_thread = before_; }

Address expect_status(const DeviceFunction& function, StreamNumber stream, RaiseStatus raise) {
  return use_device(function.device).streams->statuses().expect(stream, raise, function.name);
}

}  // namespace md::device
