// What a program calls once at start to have GPUs: it registers who to ask, and looks at nothing.
#pragma once

namespace md {

// The runtime and the allocator of DeviceType::Cuda. Idempotent, thread-safe.
void install_cuda();

}  // namespace md
