// What the Python code that stands in for the standard library asks of the trace: minidynamo/polyfills/bridge.py.
#include "frontend/breaks.h"
#include "frontend/builtins/families.h"
#include "frontend/builtins/refusals.h"
#include "frontend/polyfills.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

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

// find_implementation(registry, cls): of a functools.singledispatch; what subclasses whom is asked while tracing.
ValueRef rule_find_implementation(Tracer& t, CallArgs& args) {
  expect_args(t, "find_implementation", args, 2, 2);
  auto* registry = as<DictValue>(args[0]);
  PyRef cls = args[1]->as_constant(), numbers = checked(PyDict_New());
  if (!registry || !cls) unmodelled("functools.singledispatch", print_list(args.positional));
  registry->observe_keys(t);
  const auto entries = registry->live();
  for (std::size_t k = 0; k < entries.size(); ++k)
    checked(PyDict_SetItem(numbers.get(), entries[k].key->as_constant().get(), checked(PyLong_FromSize_t(k)).get()));
  PyRef functools = checked(PyImport_ImportModule("functools"));
  PyRef found = PyRef::steal(PyObject_CallMethod(functools.get(), "_find_impl", "OO", cls.get(), numbers.get()));
  if (!found) t.raise_current();
  t.expect_no_registration();
  return found.get() == Py_None ? t.none() : entries[PyLong_AsSize_t(found.get())].value;
}

ValueRef rule_is_made_here(Tracer& t, CallArgs& args) {
  expect_args(t, "is_made_here", args, 1, 1);
  return t.boolean(!args[0]->source && !args[0]->real);
}

ValueRef rule_takes_references(Tracer& t, CallArgs& args) {
  expect_args(t, "takes_references", args, 1, 1);
  PyTypeObject* type = args[0]->python_type();
  return t.boolean(!type || PyType_SUPPORTS_WEAKREFS(type));
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
    {"minidynamo.polyfills.bridge", "is_made_here", rule_is_made_here},
    {"minidynamo.polyfills.bridge", "takes_references", rule_takes_references},
    {"minidynamo.polyfills.bridge", "find_implementation", rule_find_implementation},
    {"types", "MethodType", rule_method_type},
};

}  // namespace

std::span<const BuiltinRow> polyfill_rules() { return kRows; }

}  // namespace md
