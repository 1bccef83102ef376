#include "ir/long_work.h"

namespace md {

namespace {
Interlude interlude{nullptr, nullptr};  // written once, before there are other threads
}

void set_interlude(const Interlude& i) { interlude = i; }

void LongWork::leave() {
  if (interlude.leave) left_ = interlude.leave();
}
void LongWork::enter() { interlude.enter(left_); }

}  // namespace md
