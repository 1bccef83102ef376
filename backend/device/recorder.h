// Work for a device that is not there, on one thread: memory without content, and launches that are noted instead.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "backend/nest/launch_shape.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  virtual ~Recorder() = default;
  virtual const DeviceProperties& properties() const = 0;
  virtual Ref<Storage> allocate(std::size_t bytes) = 0;
  // `words`: the parameters. `status`: which of them is the address of a status word, or null.
  virtual void launch(std::string_view entry, const LaunchShape& shape, std::span<const std::uint64_t> words,
                      const std::uint64_t* status) = 0;
};

// Something needs a device that is there.
struct CannotRecord final : std::exception {
  explicit CannotRecord(const char* reason) : why(reason) {}
  const char* why;
};

// The one that the thread's work goes to, or null.
Recorder* current_recorder();

class RecordingScope {
 public:
  explicit RecordingScope(Recorder& to);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;

 private:
  Recorder* const outer_;
};

}  // namespace md::device
