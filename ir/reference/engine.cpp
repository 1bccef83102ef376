// The engine in use.
#include "ir/reference/engine.h"

#include <atomic>

namespace md {
namespace {

std::atomic<Engine*> installed{nullptr};

}  // namespace

Engine& engine() {
  Engine* e = installed.load(std::memory_order_acquire);
  return e ? *e : reference_engine();
}
void set_engine(Engine* e) { installed.store(e, std::memory_order_release); }

}  // namespace md
