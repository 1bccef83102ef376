// Keeps fork() away from work whose locks a forked child would inherit in a held state.
#pragma once

namespace md {

// While one exists, fork() waits (milliseconds): hold it around all work with LLVM and the locks taken meanwhile.
class ForkGate {
 public:
  ForkGate();
  ~ForkGate();
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;
};

}  // namespace md
