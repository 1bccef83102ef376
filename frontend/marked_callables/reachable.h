// What values reach (functions through closure and defaults), to see whether a call changed anything there. Objects
// that existed before the trace record their changes as effects; those made while tracing do not.
#pragma once

#include <vector>

#include "frontend/trace/value.h"

namespace md {

class ReachableState {
 public:
  ReachableState(Tracer& t, std::vector<ValueRef> from);
  bool has_changed() const;

 private:
  struct Seen {
    ValueRef value;
    std::vector<const void*> parts;
  };
  static std::vector<const void*> parts_of(const ValueRef& v, std::vector<ValueRef>* inside);

  std::vector<Seen> seen_;
};

}  // namespace md
