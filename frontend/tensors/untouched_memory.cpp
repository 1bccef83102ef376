// Pages of zeros by mmap.
#include "frontend/tensors/untouched_memory.h"

#include <sys/mman.h>

#include "ir/core/error.h"
#include "ir/tensor/readable.h"

namespace md {

Ref<Storage> untouched_zeros(std::size_t bytes) {
  if (bytes == 0) return allocate_storage(0);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw OpError(ErrorKind::Memory, "out of memory for a tensor without elements");
  return make_ref<Storage>(data, bytes, [](void* p, std::size_t n, void*) { munmap(p, n); }, nullptr);
}

Ref<Storage> untouched_zeros(std::size_t bytes, Device device) {
  return device.is_readable() ? untouched_zeros(bytes) : zeros_on(bytes, device);
}

}  // namespace md
