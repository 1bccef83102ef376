// Values are reference-counted, and a program's objects refer to each other in circles. Whatever was changed while a
// trace ran lets go of its parts when the trace is over, so that the real objects in it are not kept.
#pragma once

#include <unordered_set>
#include <vector>

#include "frontend/trace/tracer.h"

namespace md {

class CycleBreaker {
 public:
  explicit CycleBreaker(Tracer& t);
  ~CycleBreaker();
  CycleBreaker(const CycleBreaker&) = delete;
  CycleBreaker& operator=(const CycleBreaker&) = delete;
  void note(Value* v);

 private:
  Tracer& tracer_;
  CycleBreaker* outer_;
  std::vector<ValueRef> changed_;
  std::unordered_set<const Value*> known_;
};

// A value was given another value as its part.
void note_part_stored(Value* v);

}  // namespace md
