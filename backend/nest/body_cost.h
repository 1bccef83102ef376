// What the body of an op costs, found by running it over a builder that counts.
#pragma once

#include "backend/nest/loop_nest.h"

namespace md {

struct BodyCost {
  int instructions = 0;
  int latency = 0;  // cycles from operands to result
};

// Of one value of a nest; nothing for loads, constants and folds.
BodyCost body_cost(const NestValue& v);

}  // namespace md
