// Calls and function objects.
#include "frontend/opcodes/family.h"
#include "frontend/values/call_errors.h"
#include "frontend/values/functions.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/objects.h"

namespace md {

// Calls flat where the callee is a Python function, else now.
static void do_call(Tracer& t, SymbolicFrame& f, ValueRef callee, CallArgs args) {
  if (t.try_push_call(callee, args)) return;
  ValueRef r = t.call(callee, std::move(args));
  f.push(std::move(r));
}

// Of the two slots under the arguments a NULL one is ignored; without NULL the lower is the callable, the upper its
// first argument.
static ValueRef take_callable(SymbolicFrame& f, CallArgs& args) {
  ValueRef upper = f.pop(), lower = f.pop();
  if (!f.contexts.empty() && f.contexts.back().stack_index == static_cast<int>(f.stack.size())) f.contexts.pop_back();
  if (is_null(lower)) return upper;
  if (is_null(upper)) return lower;
  args.positional.insert(args.positional.begin(), upper);
  return lower;
}

OPCODE(CALL) {
  CallArgs args;
  const Py_ssize_t named = i.kwnames ? PyTuple_GET_SIZE(i.kwnames.get()) : 0;
  const auto first = f.stack.size() - static_cast<std::size_t>(i.a);
  for (int k = 0; k < i.a; ++k) {
    ValueRef v = f.stack[first + static_cast<std::size_t>(k)];
    const Py_ssize_t name = k - (i.a - named);
    if (name < 0)
      args.positional.push_back(std::move(v));
    else
      args.keywords.emplace_back(PyRef::borrow(PyTuple_GET_ITEM(i.kwnames.get(), name)), std::move(v));
  }
  f.stack.resize(first);
  ValueRef callee = take_callable(f, args);
  do_call(t, f, std::move(callee), std::move(args));
}

OPCODE(CALL_FUNCTION_EX) {
  if (i.a > 1) graph_break<GB0168>(std::to_string(i.a));
  CallArgs args;
  ValueRef keywords = i.a ? t.realize(f.pop()) : ValueRef();
  ValueRef positional = t.realize(f.pop());
  ValueRef callee = f.pop();
  if (kNullBelowCallable) {
    f.pop();
  } else {
    // 3.13 keeps the NULL above the callable.
    if (is_null(callee)) callee = f.pop();
  }
  if (is_no_iterable(positional))
    t.raise(PyExc_TypeError,
            callable_text(t.realize(callee)) + " argument after * must be an iterable, not " + given_type(positional));
  args.positional = collect_sized(t, positional);
  if (keywords) {
    auto* d = as<DictValue>(keywords);
    if (!d) graph_break<GB0167>(positional->print(), keywords->print());
    d->observe_keys(t);
    for (auto& e : d->live()) {
      PyRef k = e.key->as_constant();
      if (!k || !PyUnicode_Check(k.get())) {
        if (!binds_in_python(t.realize(callee))) unmodelled(callee->print(), "keywords that are no strings");
        t.raise(PyExc_TypeError, "keywords must be strings");
      }
      args.keywords.emplace_back(k, e.value);
    }
  }
  do_call(t, f, std::move(callee), std::move(args));
}

OPCODE(MAKE_FUNCTION) {
  ValueRef code = f.pop();
  auto fn = make_ref<FunctionValue>();
  fn->code = code->real;
  fn->globals = f.globals;
  fn->builtins = f.builtins;
  fn->qualname = PyRef::borrow(reinterpret_cast<PyCodeObject*>(code->real.get())->co_qualname);
  f.push(fn);
}

OPCODE(SET_FUNCTION_ATTRIBUTE) {
  auto* fn = as<FunctionValue>(f.top());
  ValueRef keep = f.pop(), v = t.realize(f.pop());
  if (i.a == 1) fn->defaults = collect(t, v);
  if (i.a == 2)
    for (auto& e : as<DictValue>(v)->live()) fn->kwdefaults.emplace_back(e.key->as_constant(), e.value);
  if (i.a == 4) fn->annotations = v;
  if (i.a == 8)
    for (auto& c : collect(t, v)) fn->closure.push_back(Ref<CellValue>(as<CellValue>(t.realize(c))));
  f.push(std::move(keep));
}

// With config.trace_more a rule makes the class (frontend/builtins/class_rules.cpp).
OPCODE(LOAD_BUILD_CLASS) {
  PyObject* build = find_item(f.builtins.get(), "__build_class__");
  if (!t.config.trace_more || !build) graph_break<GB0075>();
  f.push(make_ref<BuiltinValue>(PyRef::borrow(build)));
}

// CPython 3.12's numbers.
enum : int { kStopIterationError = 3, kUnaryPlus = 5, kListToTuple = 6 };

OPCODE(INTRINSIC_1) {
  if (i.a == kListToTuple) {
    ValueRef v = t.realize(f.pop());
    return f.push(make_ref<TupleValue>(collect(t, v)));
  }
  if (i.a == kUnaryPlus) return f.push(t.unary_op(f.pop(), kUnaryPositive));
  if (i.a == kStopIterationError) {
    ValueRef v = t.realize(f.top());
    if (v->python_type() == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) {
      f.pop();
      auto e = make_ref<ExceptionValue>(
          reinterpret_cast<PyTypeObject*>(PyExc_RuntimeError),
          std::vector<ValueRef>{t.constant(checked(PyUnicode_FromString("generator raised StopIteration")))});
      e->cause = e->context = v;
      f.push(e);
    }
    return;
  }
  graph_break<GB0079>(std::to_string(i.a));
}

}  // namespace md
