// A snapshot of the configuration one compile works with.
#pragma once

#include <string>

#include "frontend/cpython/py_ref.h"

namespace md {

struct TraceConfig {
  bool fullgraph = false;
  bool verbose = false;
  bool suppress_errors = false;
  bool capture_scalar_outputs = false;
  bool capture_dynamic_output_shape_ops = false;
  bool trace_more = false;
  bool allow_rnn = false;
  bool enable_trace_unittest = false;
  bool no_build_set = false;  // inject_BUILD_SET_unimplemented_TESTING_ONLY
  bool trace_numpy = true;
  bool allow_empty_graphs = false;
  bool error_on_recompile = false;
  bool fail_on_recompile_limit_hit = false;
  bool skip_code_recursive_on_limit = true;
  bool background_compile = true;
  int dynamic = -1;  // of compile(): -1 automatic
  bool dynamic_shapes = true;
  bool automatic_dynamic_shapes = true;
  bool assume_static_by_default = true;
  bool specialize_int = false;
  bool specialize_float = false;
  bool only_allow_pt2_compliant_ops = false;
  PyRef reorderable_logging_functions, ignore_logger_methods;  // sets
  int break_every = 0;                                         // for tests: a break at every n-th place that can resume
  int break_at = 0;  // or at the n-th; with trace_more at the n-th instruction
  int recompile_limit = 8;
  int accumulated_recompile_limit = 256;
};

}  // namespace md
