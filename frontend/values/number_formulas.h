// Calls whose numbers may be others in the next call, written with products, so that the graph holds for all of them.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// x + alpha * y for add(x, y, alpha=alpha), full(sizes, 1) * n for full(sizes, n) and the like. Null: no number among
// the arguments is unknown, or there is no such formula.
ValueRef by_number_formula(Tracer& t, const std::string& name, Spelling spelling, const CallArgs& args);

}  // namespace md
