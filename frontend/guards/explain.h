// Why an entry does not fit, in full.
#pragma once

#include <string>
#include <vector>

#include "frontend/guards/guard.h"

namespace md {

// Texts of all guards that fail, as explain_failure() gives the first one; of objects found to be something else only
// the first guard. Empty if all pass.
std::vector<std::string> explain_failures(const GuardProgram& p, const FrameArgs& args);

}  // namespace md
