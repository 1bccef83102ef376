// The engines in use, by device.
#include "ir/reference/engine.h"

#include <atomic>

#include "ir/core/error.h"

namespace md {
namespace {

// Inference has said everything about results without elements.
class NoElements final : public Engine {
 public:
  void run(const Op&, std::span<const Arg>, std::span<const TensorRef>) override {}
};

std::atomic<Engine*> engines[kDeviceTypeCount] = {};
std::atomic<Engine*>& installed(DeviceType type) { return engines[static_cast<std::size_t>(type)]; }

}  // namespace

Engine& engine() {
  Engine* e = installed(DeviceType::Cpu).load(std::memory_order_acquire);
  return e ? *e : reference_engine();
}
Engine& engine(Device d) {
  if (d.is_cpu()) return engine();
  static NoElements no_elements;
  if (!d.has_memory()) return no_elements;
  Engine* e = installed(d.type).load(std::memory_order_acquire);
  if (!e) throw OpError(ErrorKind::Runtime, "nothing computes on device '" + to_string(d) + "' in this build");
  return *e;
}
void set_engine(DeviceType type, Engine* e) { installed(type).store(e, std::memory_order_release); }

}  // namespace md
