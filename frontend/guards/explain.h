// Why an entry does not fit, in full.
#pragma once

#include <string>
#include <vector>

#include "frontend/guards/guard.h"

namespace md {

// Texts of all guards that fail, as explain_failure() gives the first one; of objects found to be something else only
// the first guard. Empty if all pass.
std::vector<std::string> explain_failures(const GuardProgram& p, const FrameArgs& args);

// The name of the source on which the first failing guard is; empty if all pass, or if it is on no source.
std::string failing_source(const GuardProgram& p, const FrameArgs& args);

}  // namespace md
