// What an attempt at a trace looked at before it broke. The attempt that then stops in front of the breaking
// instruction never looks at it, but without its guards an entry would fit calls that break nowhere.
#pragma once

#include <vector>

#include "frontend/guards/guard.h"

namespace md {

class CarriedGuards {
 public:
  // Takes the guards of an attempt and the sources they are on.
  void take(const GuardSet& guards, SourceTable&& sources);
  // Adds them to another attempt.
  void give(GuardSet& guards, SourceTable& sources) const;
  void clear();
  bool empty() const { return guards_.empty(); }

 private:
  SourceTable sources_;
  std::vector<Guard> guards_;
};

}  // namespace md
