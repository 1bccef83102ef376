// Running kernels, one by one or captured as a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device/modules.h"
#include "backend/device/statuses.h"
#include "backend/nest/launch_shape.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

// `words`: the parameters, 64 bits each. A grid without blocks is nothing to do. `line`: where in the program, if that
// is known; it lives for ever (kept_name). What the
// driver refuses has not been begun: it is asked for once more. Throws OpError(Device).
void launch(DeviceFunction& function, const LaunchShape& shape, std::span<const std::uint64_t> words,
            StreamNumber stream, const char* line = nullptr);

// While it lives, launches of this thread that name no line are for this one; null: nobody knows.
class LineOfLaunches {
 public:
  explicit LineOfLaunches(const char* line);
  ~LineOfLaunches();
  LineOfLaunches(const LineOfLaunches&) = delete;

 private:
  const char* const before_;
};

// The address of a status word for the next launch of the function, which raises by `raise` what the kernel finds.
Address expect_status(const DeviceFunction& function, StreamNumber stream, RaiseStatus raise = raise_failed_body);

// See DeviceRuntime.
void begin_capture(int device, StreamNumber stream, const DeviceGraph* shares = nullptr);
std::shared_ptr<DeviceGraph> end_capture(int device, StreamNumber stream);

}  // namespace md::device
