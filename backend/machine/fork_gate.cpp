// Compiling threads share the gate; fork() takes it alone.
#include "backend/machine/fork_gate.h"

#include <pthread.h>

#include <new>
#include <shared_mutex>

namespace md {
namespace {

alignas(std::shared_mutex) unsigned char gate_memory[sizeof(std::shared_mutex)];

std::shared_mutex& compile_gate() {
  static std::shared_mutex* gate = [] {
    auto* made = new (gate_memory) std::shared_mutex;
    // The child makes a new one: threads that wait for the old one are not there to take it.
    pthread_atfork([] { compile_gate().lock(); }, [] { compile_gate().unlock(); },
                   [] { new (gate_memory) std::shared_mutex; });
    return made;
  }();
  return *gate;
}

}  // namespace

ForkGate::ForkGate() { compile_gate().lock_shared(); }
ForkGate::~ForkGate() { compile_gate().unlock_shared(); }

}  // namespace md
