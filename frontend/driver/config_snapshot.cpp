// Reads the settings one compilation works with from minidynamo._dynamo.config.
#include "frontend/driver/compile_frame.h"
#include "frontend/report/events.h"

namespace md {

TraceConfig config_snapshot(const CompileOptions& options) {
  PyRef module = own_module("minidynamo._dynamo.config");
  PyRef values = checked(PyObject_CallMethod(module.get(), "_snapshot", nullptr));
  auto get = [&](const char* key) -> PyObject* { return find_item(values.get(), key); };
  auto flag = [&](const char* key) { return get(key) && PyObject_IsTrue(get(key)) == 1; };
  auto number = [&](const char* key, int fallback) {
    return get(key) && PyLong_Check(get(key)) ? static_cast<int>(PyLong_AsLong(get(key))) : fallback;
  };
  TraceConfig c;
  c.fullgraph = options.fullgraph;
  c.dynamic = options.dynamic;
  c.dynamic_shapes = flag("dynamic_shapes");
  c.automatic_dynamic_shapes = flag("automatic_dynamic_shapes");
  c.assume_static_by_default = flag("assume_static_by_default");
  c.specialize_int = flag("specialize_int");
  c.specialize_float = flag("specialize_float");
  c.verbose = flag("verbose");
  c.suppress_errors = flag("suppress_errors");
  c.capture_scalar_outputs = c.fullgraph || flag("capture_scalar_outputs");
  c.capture_dynamic_output_shape_ops = c.fullgraph || flag("capture_dynamic_output_shape_ops");
  c.trace_more = flag("trace_more");
  // With fullgraph a call without tensor operations says nothing of the next one.
  c.allow_empty_graphs = c.fullgraph || flag("allow_empty_graphs") || flag("force_replace");
  c.allow_rnn = flag("allow_rnn");
  c.enable_trace_unittest = flag("enable_trace_unittest");
  c.no_build_set = flag("inject_BUILD_SET_unimplemented_TESTING_ONLY");
  c.trace_numpy = flag("trace_numpy");
  c.error_on_recompile = flag("error_on_recompile");
  c.background_compile = flag("background_compile");
  c.fail_on_recompile_limit_hit = flag("fail_on_recompile_limit_hit");
  c.skip_code_recursive_on_limit = flag("skip_code_recursive_on_recompile_limit_hit");
  c.only_allow_pt2_compliant_ops = flag("only_allow_pt2_compliant_ops");
  c.reorderable_logging_functions = PyRef::borrow(get("reorderable_logging_functions"));
  c.ignore_logger_methods = PyRef::borrow(get("ignore_logger_methods"));
  c.break_every = c.fullgraph ? 0 : number("break_every", 0);
  c.break_at = c.fullgraph ? 0 : number("break_at", 0);
  c.recompile_limit = number("recompile_limit", c.recompile_limit);
  c.accumulated_recompile_limit = number("accumulated_recompile_limit", c.accumulated_recompile_limit);
  return c;
}

}  // namespace md
