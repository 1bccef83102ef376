// Which device the results of a call are on, and which operands may meet.
#include <algorithm>

#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"
#include "ir/tensor/device_runtime.h"

namespace md {
namespace {

int rank_of(const Arg& a) {
  const auto* t = a.get_if<TensorRef>();
  return t ? (*t)->dim() : a.get<Node*>()->type().dim();
}

// f(tensor, position among the parameters) of each tensor, also within lists.
template <class F>
void for_each_operand(std::span<const Arg> args, F&& f) {
  const auto visit = [&](const auto& self, const Arg& a, std::size_t at) -> void {
    if (is_tensor(a)) return f(a, at);
    if (const auto* l = a.get_if<ListArg>())
      for (const Arg& x : l->items) self(self, x, at);
  };
  for (std::size_t i = 0; i < args.size(); ++i) visit(visit, args[i], i);
}

bool all_on_cpu(std::span<const Arg> args) {
  bool all = true;
  for_each_operand(args, [&](const Arg& a, std::size_t) { all &= device_of(a).is_cpu(); });
  return all;
}

// What tells where elements are found or put. x[...] takes it from the CPU whatever x is on; other ops do so where x
// has no memory.
bool is_position(const Op& op, std::size_t at, bool without_memory) {
  const Param& p = op.schema.params[at];
  return p.type == ParamType::Index || (without_memory && (p.name == "index" || p.name == "indices"));
}

[[noreturn]] void refuse_mixture(const Op& op, Device a, Device b) {
  throw OpError(ErrorKind::Runtime,
                fmt::format("{}(): Expected all tensors to be on the same device, but found at least two devices, {} "
                            "and {}!",
                            op.public_name, to_string(a), to_string(b)));
}

// The one the operands are on.
Device common_device(const Op& op, std::span<const Arg> args) {
  Device common;
  bool decided = false;  // by a tensor that does not pass for a number
  bool without_memory = false;
  for_each_operand(args, [&](const Arg& a, std::size_t) { without_memory |= !device_of(a).has_memory(); });
  for_each_operand(args, [&](const Arg& a, std::size_t at) {
    const Device d = device_of(a);
    if (d.is_cpu() && (rank_of(a) == 0 || is_position(op, at, without_memory))) return;
    if (decided && !(d == common)) {
      if (is_position(op, at, false))
        throw OpError(
            ErrorKind::Runtime,
            "indices should be either on cpu or on the same device as the indexed tensor (" + to_string(common) + ")");
      refuse_mixture(op, common, d);
    }
    common = d, decided = true;
  });
  return common;
}

bool copies_between_devices(const Op& op) { return op.id == id::Copy || op.id == id::CopyToDevice; }

Device place_of_copy(const Op& op, std::span<const Arg> args) {
  const bool into = op.id == id::Copy;
  const Device from = device_of(args[into ? 1 : 0]);
  const Device* named = into ? nullptr : args[static_cast<std::size_t>(op.device)].get_if<Device>();
  const Device to = into ? device_of(args[0]) : named ? available(*named) : from;
  if (!from.has_memory() && to.has_memory()) {
    throw OpError(ErrorKind::NotImplemented,
                  fmt::format("Cannot copy out of {} tensor; no data! Use empty_like(x, device=...) or to_empty() for "
                              "uninitialised memory.",
                              to_string(from)));
  }
  return to;
}

}  // namespace

Device available(Device d) {
  if (d.info().holds_tensors && !d.info().numbered) return Device{d.type, -1};
  if (d.info().holds_tensors) {
    if (DeviceRuntime* const devices = device_runtime(d.type); devices && devices->device_count() > 0) {
      const int index = d.index < 0 ? devices->current_device() : d.index;
      if (index < devices->device_count()) return Device{d.type, static_cast<std::int8_t>(index)};
      throw OpError(ErrorKind::Runtime, fmt::format("CUDA error: invalid device ordinal: there is no '{}', the devices "
                                                    "are 0 to {}",
                                                    to_string(d), devices->device_count() - 1));
    }
  }
  if (const bool cuda = d.type == DeviceType::Cuda;
      cuda || d.type == DeviceType::Xpu) {  // of the exception type that programs catch to go on without it
    DeviceRuntime* const driver = device_runtime(d.type);
    const std::string why = driver ? driver->why_unavailable() : "";
    throw OpError(ErrorKind::Assertion,
                  fmt::format("Torch not compiled with {} enabled: minidynamo holds tensors on the CPU; ask "
                              "torch.{}.is_available() first{}",
                              cuda ? "CUDA" : "XPU", d.info().name, why.empty() ? "" : " (" + why + ")"));
  }
  throw OpError(ErrorKind::Runtime, fmt::format("device '{}' is not available: minidynamo holds tensors on 'cpu' and, "
                                                "without elements, on 'meta'",
                                                to_string(d)));
}

Device device_of(const Arg& tensor) {
  const auto* t = tensor.get_if<TensorRef>();
  return t ? (*t)->device() : tensor.get<Node*>()->type().device;
}

Device device_of_call(const Op& op, std::span<const Arg> args) {
  if (copies_between_devices(op)) return place_of_copy(op, args);
  const Device* named = op.device < 0 ? nullptr : args[static_cast<std::size_t>(op.device)].get_if<Device>();
  if (named) return available(*named);
  return all_on_cpu(args) ? kCpu : common_device(op, args);
}

}  // namespace md
