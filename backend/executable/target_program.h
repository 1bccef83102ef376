// A graph's launches for another processor than this one, sizes filled in: what is shown, written to files and launched
// by hand.
#pragma once

#include <string>

#include "ir/compile/target_program.h"
#include "ir/graph/graph.h"

namespace md {

// Throws InternalError for an unknown target.
TargetProgram make_target_program(const Graph& functional, const std::string& target);

}  // namespace md
