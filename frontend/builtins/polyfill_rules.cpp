// What the Python code that polyfills the standard library asks of the trace: minidynamo/polyfills/bridge.py.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/marked_callables/texts.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/let_go.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"

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
  for (auto& f : t.stack.frames) {
    if (f->is_library()) continue;
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
  PyRef functools = checked(import_module("functools"));
  PyRef found = PyRef::steal(PyObject_CallMethod(functools.get(), "_find_impl", "OO", cls.get(), numbers.get()));
  if (!found) t.raise_current();
  t.expect_no_registration();
  return found.get() == Py_None ? t.none() : entries[PyLong_AsSize_t(found.get())].value;
}

ValueRef rule_is_made_here(Tracer& t, CallArgs& args) {
  expect_args(t, "is_made_here", args, 1, 1);
  return t.boolean(!args[0]->source && !args[0]->real);
}

ValueRef rule_may_have_let_go(Tracer& t, CallArgs& args) {
  expect_args(t, "may_have_let_go", args, 0, 0);
  return t.boolean(may_let_go(t));
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

ExceptionValue& exception_at(CallArgs& args, std::size_t k) {
  auto* e = as<ExceptionValue>(args[k]);
  if (!e) unmodelled(args[k]->print(), "an exception that was not made while tracing");
  return *e;
}

ValueRef rule_group_parts(Tracer& t, CallArgs& args) {
  expect_args(t, "group_parts", args, 1, 1);
  const ExceptionValue& e = exception_at(args, 0);
  if (!e.members) unmodelled(e.print(), "a group that was not made while tracing");
  return make_ref<TupleValue>(std::vector<ValueRef>{e.message, e.members});
}

ValueRef rule_is_caught(Tracer& t, CallArgs& args) {
  expect_args(t, "is_caught", args, 2, 2);
  return t.boolean(is_caught(t, args[1], exception_at(args, 0).type));
}

ValueRef rule_describe_as(Tracer& t, CallArgs& args) {
  expect_args(t, "describe_as", args, 2, 2);
  ExceptionValue &part = exception_at(args, 0), &group = exception_at(args, 1);
  part.traceback = group.traceback, part.context = group.context, part.cause = group.cause;
  part.suppress_context = true;  // as whenever a cause is set, None included
  PyRef name = checked(PyUnicode_InternFromString("__notes__"));
  if (type_find(group.type, name.get())) unmodelled(group.print(), "notes of a class of exceptions");
  for (auto& [k, v] : group.attrs) {
    if (PyUnicode_Compare(k.get(), name.get()) != 0) continue;
    ValueRef notes = t.realize(v);
    if (notes->kind != ValueKind::List && notes->kind != ValueKind::Tuple)
      unmodelled(group.print(), "notes that are no list");
    ValueRef own = make_ref<ListValue>(collect(t, notes));
    const auto same = [&](auto& entry) { return PyUnicode_Compare(entry.first.get(), name.get()) == 0; };
    std::erase_if(part.attrs, same);
    part.attrs.emplace_back(name, std::move(own));
    break;
  }
  return t.none();
}

ValueRef rule_is_same_raise(Tracer& t, CallArgs& args) {
  expect_args(t, "is_same_raise", args, 2, 2);
  const ExceptionValue &a = exception_at(args, 0), &b = exception_at(args, 1);
  const auto same = [&](const ValueRef& v, const ValueRef& w) {
    return (v ? t.realize(v) : v).get() == (w ? t.realize(w) : w).get();
  };
  return t.boolean(a.traceback == b.traceback && same(a.cause, b.cause) && same(a.context, b.context));
}

ValueRef rule_with_fields(Tracer& t, CallArgs& args) {
  expect_args(t, "with_fields", args, 2, 2);
  return text_of_fields(args[0], args[1]);
}

constexpr BuiltinRow kPolyfillRules[] = {
    {"minidynamo.polyfills.bridge", "refuse", rule_refuse},
    {"minidynamo.polyfills.bridge", "is_held", rule_is_held},
    {"minidynamo.polyfills.bridge", "is_made_here", rule_is_made_here},
    {"minidynamo.polyfills.bridge", "may_have_let_go", rule_may_have_let_go},
    {"minidynamo.polyfills.bridge", "takes_references", rule_takes_references},
    {"minidynamo.polyfills.bridge", "find_implementation", rule_find_implementation},
    {"minidynamo.polyfills.bridge", "group_parts", rule_group_parts},
    {"minidynamo.polyfills.bridge", "is_caught", rule_is_caught},
    {"minidynamo.polyfills.bridge", "describe_as", rule_describe_as},
    {"minidynamo.polyfills.bridge", "is_same_raise", rule_is_same_raise},
    {"minidynamo.polyfills.bridge", "with_fields", rule_with_fields},
    {"types", "MethodType", rule_method_type},
};

}  // namespace

std::span<const BuiltinRow> polyfill_rules() { return kPolyfillRules; }

}  // namespace md
