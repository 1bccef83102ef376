// A snapshot of the configuration one compile works with.
#pragma once

#include <string>

#include "frontend/py_ref.h"

namespace md {

struct TraceConfig {
  bool fullgraph = false;
  bool verbose = false;
  bool suppress_errors = false;
  bool capture_scalar_outputs = false;
  bool trace_more = false;
  bool allow_empty_graphs = false;
  bool error_on_recompile = false;
  bool fail_on_recompile_limit_hit = false;
  bool skip_code_recursive_on_limit = true;
  int recompile_limit = 8;
  int accumulated_recompile_limit = 256;
};

}  // namespace md
