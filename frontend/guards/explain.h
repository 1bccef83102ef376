// Why an entry does not fit, in full.
#pragma once

#include <string>
#include <vector>

#include "frontend/guards/guard.h"

namespace md {

// Texts of all guards that fail, as explain_failure() gives the first one; of objects found to be something else only
// the first guard. Empty if all pass.
std::vector<std::string> explain_failures(const CompiledGuards& p, const FrameArgs& args);

// The first guard that fails, in parts. Empty `text`: all pass.
struct Failure {
  std::string text;              // as explain_failure() gives it without a comment
  std::string source;            // "L['x']"; empty: on no source
  std::string place;             // what has changed, as the recompile log names it: "x.size(0)", "n"
  std::string kind;              // the guard's printed name; "MISSING": the source cannot be loaded
  std::string expected, actual;  // what was there and what is there now; empty: the text tells
  std::string number;            // of an int, where it stands: "argument", "global", "module", "range", "elsewhere"
};
Failure first_failure(const CompiledGuards& p, const FrameArgs& args);

}  // namespace md
