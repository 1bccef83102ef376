// Copies that lead from one device to another, which no engine of a device makes.
#pragma once

#include <span>

#include "ir/reference/engine.h"
#include "ir/tensor/device_generators.h"

namespace md {

// Whether the call copies from another device, where both have memory.
bool crosses_devices(const Op& op, std::span<const Arg> args, const TensorImpl& out);
// Who executes a bound call with these results: the engine of their device, or for a copy from another device one that
// moves bytes between the two.
Engine& engine_of(const Op& op, std::span<const Arg> args, const TensorImpl& out);

// Executes it; what a device draws is of its own stream.
inline void run_call(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  if (out[0]->device().is_cpu() && !crosses_devices(op, args, *out[0])) [[likely]]
    return engine().run(op, args, out);
  const DrawOnDevice own(out[0]->device());
  engine_of(op, args, *out[0]).run(op, args, out);
}

// The elements of `from`, broadcast and converted, into `to`; each has memory.
void copy_across(const TensorRef& from, const TensorRef& to);

// `t` on another device, laid out alike; `t` itself where it is there.
TensorRef on_device(const TensorRef& t, Device device);

}  // namespace md
