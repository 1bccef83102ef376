// What a function can reach through its closure and defaults, to see whether calling it changed anything there. Objects
// that existed before the trace record their changes as effects; those made while tracing do not.
#pragma once

#include <vector>

#include "frontend/value.h"

namespace md {

class ReachableState {
 public:
  ReachableState(Tracer& t, const ValueRef& function);
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
