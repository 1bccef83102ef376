// What the Python code that stands in for the standard library asks of the trace: minidynamo/polyfills/bridge.py.
#include "frontend/breaks.h"
#include "frontend/builtins/families.h"
#include "frontend/builtins/refusals.h"
#include "frontend/polyfills.h"
#include "frontend/values/constant.h"

namespace md {

namespace {

ValueRef rule_refuse(Tracer& t, CallArgs& args) {
  expect_args(t, "refuse", args, 2, 2);
  std::string function, construct;
  constant_str(args[0], function), constant_str(args[1], construct);
  unmodelled(function, construct);
}

// Some variable of the program's frames holds the object: nothing has let go of it.
ValueRef rule_is_held(Tracer& t, CallArgs& args) {
  expect_args(t, "is_held", args, 1, 1);
  const auto holds = [&](const ValueRef& raw) {
    if (is_null(raw)) return false;
    ValueRef v = t.realize(raw);
    if (auto* cell = as<CellValue>(v)) v = cell->content ? t.realize(cell->content) : ValueRef();
    return v.get() == args[0].get();
  };
  for (auto& f : t.frames) {
    if (in_polyfills(f->globals.get())) continue;
    for (auto& v : f->slots)
      if (holds(v)) return t.boolean(true);
  }
  return t.boolean(false);
}

ValueRef rule_method_type(Tracer& t, CallArgs& args) {
  expect_args(t, "method", args, 2, 2);
  PyTypeObject* type = args[0]->python_type();
  if ((type && !type->tp_call) || is_true_constant(args[1], Py_None)) throw WrongArguments{};
  return make_ref<MethodValue>(args[0], args[1]);
}

constexpr BuiltinRow kRows[] = {
    {"minidynamo.polyfills.bridge", "refuse", rule_refuse},
    {"minidynamo.polyfills.bridge", "is_held", rule_is_held},
    {"types", "MethodType", rule_method_type},
};

}  // namespace

std::span<const BuiltinRow> polyfill_rules() { return kRows; }

}  // namespace md
