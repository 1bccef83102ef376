// Memory of the host that does not move, which devices copy from and to by themselves: kept when it is let go of, and
// not handed out again before the copies that use it are done.
#pragma once

#include <cstddef>

#include "ir/tensor/device_runtime.h"

namespace md::device {

Ref<Storage> allocate_pinned(std::size_t bytes, int device);
bool is_pinned(const void* host);
// Whether the memory is ours, so that a copy may go on when its tensor is gone: then the copy is noted.
bool note_pinned_copy(const void* host, int device, StreamNumber stream);
void empty_pinned_cache();

}  // namespace md::device
