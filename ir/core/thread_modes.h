// What operations read of this thread without being told, in one struct: guards read all of it at every call, and each
// access to thread-local memory is a function call.
#pragma once

#include "registry/device.h"

namespace md {

struct ThreadModes {
  bool grad_enabled = true;
  bool inference = false;
  Device default_device;  // where tensors are made from nothing
};

inline constinit thread_local ThreadModes thread_modes;

}  // namespace md
