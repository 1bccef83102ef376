// What the Python code that stands in for the standard library asks of the trace: minidynamo/polyfills/bridge.py.
#include "frontend/breaks.h"
#include "frontend/builtins/families.h"
#include "frontend/values/constant.h"

namespace md {

namespace {

ValueRef rule_refuse(Tracer& t, CallArgs& args) {
  expect_args(t, "refuse", args, 2, 2);
  std::string function, construct;
  constant_str(args[0], function), constant_str(args[1], construct);
  unmodelled(function, construct);
}

constexpr BuiltinRow kRows[] = {{"minidynamo.polyfills.bridge", "refuse", rule_refuse}};

}  // namespace

std::span<const BuiltinRow> polyfill_rules() { return kRows; }

}  // namespace md
