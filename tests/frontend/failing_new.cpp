// Preloaded by test_internal_errors.py: the n-th allocation by `new` from now on fails.
#include <cstdlib>
#include <new>

namespace {
thread_local long countdown = 0;
}

extern "C" void fail_at(long n) { countdown = n; }
extern "C" long left() { return countdown; }

void* operator new(std::size_t size) {
  if (countdown > 0 && --countdown == 0) throw std::bad_alloc();
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
