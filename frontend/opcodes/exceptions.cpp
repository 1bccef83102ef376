// raise, except, with.
#include "frontend/builtins/families.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/opcodes/family.h"
#include "frontend/trace/listed_raises.h"
#include "frontend/values/attributes.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"

namespace md {

// An exception class is called, an instance is itself.
static Ref<ExceptionValue> exception_of(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (auto* e = as<ExceptionValue>(v)) return Ref<ExceptionValue>(e);
  if (PyRef c = v->as_constant(); c && PyExceptionClass_Check(c.get())) {
    ValueRef made = t.call(v, {});
    if (auto* e = as<ExceptionValue>(made)) return Ref<ExceptionValue>(e);
  }
  if (v->real && PyExceptionInstance_Check(v->real.get()))
    unmodelled(v->print(), "raising an exception object made outside");
  if (v->kind == ValueKind::Constant && !breaks_where_raised(t))
    t.raise(PyExc_TypeError, "exceptions must derive from BaseException");
  graph_break<GB0057>(v->print());
}

// One that was there before goes to where it is caught, which is beyond a graph: its traceback grows on the way.
static Ref<ExceptionValue> exception_from_outside(Tracer& t, const Value& given) {
  std::vector<ValueRef> args;
  const PyRef held = checked(PyObject_GetAttrString(given.real.get(), "args"));
  for (Py_ssize_t k = 0; PyTuple_Check(held.get()) && k < PyTuple_GET_SIZE(held.get()); ++k)
    args.push_back(t.from_object(PyTuple_GET_ITEM(held.get(), k), nullptr));
  auto e = make_ref<ExceptionValue>(Py_TYPE(given.real.get()), std::move(args));
  e->source = given.source;
  return e;
}

OPCODE(RAISE_VARARGS) {
  if (i.a == 0) {
    ValueRef handled = t.handled_exception();
    if (!handled && !nothing_handled_outside(t)) unmodelled("raise", "re-raising an exception that a caller handles");
    if (!handled) t.raise(PyExc_RuntimeError, "No active exception to reraise");
    throw TracedRaise{handled};
  }
  ValueRef cause = i.a == 2 ? t.realize(f.pop()) : ValueRef();
  const ValueRef given = t.realize(f.pop());
  // One that ends an iteration becomes the cause of another where a generator raises it.
  const auto ends = [&](PyObject* type) {
    return PyErr_GivenExceptionMatches(reinterpret_cast<PyObject*>(given->python_type()), type) != 0;
  };
  if (!cause && given->kind == ValueKind::Opaque && given->source && PyExceptionInstance_Check(given->real.get()) &&
      !ends(PyExc_StopIteration) && !ends(PyExc_StopAsyncIteration) && !ends(PyExc_GeneratorExit))
    throw TracedRaise{exception_from_outside(t, *given)};
  auto e = exception_of(t, given);
  if (e->context && !t.handled_exception() && !nothing_handled_outside(t))
    unmodelled("raise", "an exception that has a context, while a caller handles another");
  if (cause) {
    e->suppress_context = true;
    e->cause = is_true_constant(cause, Py_None) ? ValueRef() : ValueRef(exception_of(t, cause));
  }
  throw TracedRaise{e};
}

OPCODE(RERAISE) {
  ValueRef e = f.pop();
  throw TracedRaise{e};
}

OPCODE(PUSH_EXC_INFO) {
  ValueRef e = f.pop();
  if (e && e->source && e->kind == ValueKind::Exception)
    unmodelled(e->print(), "catching an exception object made outside");
  f.push(f.handled.empty() ? t.none() : f.handled.back());
  f.push(e);
  f.handled.push_back(e);
}

OPCODE(POP_EXCEPT) {
  f.pop();
  if (!f.handled.empty()) f.handled.pop_back();
}

OPCODE(CHECK_EXC_MATCH) {
  ValueRef wanted = f.pop();
  ValueRef e = t.realize(f.top());
  auto* const any = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (!e->python_type() || !PyType_IsSubtype(e->python_type(), any)) graph_break<GB0028>(e->print());
  f.push(t.boolean(is_caught(t, wanted, e->python_type())));
}

// exception, classes → what `except* classes` leaves of it, what it takes
OPCODE(CHECK_EG_MATCH) {
  if (!t.config.trace_more) listed_instruction(f, i);
  ValueRef wanted = f.pop(), e = f.pop();
  const std::vector<ValueRef> parts = collect(t, call_polyfill(t, "exceptions", "caught", {e, wanted}));
  f.push(parts.at(0));
  f.push(parts.at(1));
  if (ValueRef taken = t.realize(parts[1]); !is_true_constant(taken, Py_None)) f.handled.back() = taken;
}

// exception, list of what the clauses of `except*` have raised and left → what is raised in the end, or None
OPCODE(INTRINSIC_2) {
  if (i.a != kIntrinsicPrepReraiseStar) no_handler(f, i);
  ValueRef raised = f.pop(), e = f.pop();
  f.push(call_polyfill(t, "exceptions", "left_to_raise", {e, raised}));
}

// What fails is the comparison of sizes made last: in the assert statement, or where its variable was assigned.
static bool asserts_last_test(const Tracer& t, const SymbolicFrame& f) {
  const TracedSizes::Test& test = t.sizes.test;
  if (!test.body || test.body != f.body.get()) return false;
  if (test.line == f.instruction().pos.line) return !t.uncaught();  // else the exception says it
  const auto& code = f.body->instructions;
  auto k = static_cast<std::size_t>(f.current);
  while (k > 0 && (code[k - 1].op == Opcode::POP_JUMP_IF || code[k - 1].op == Opcode::TO_BOOL)) --k;
  if (k == 0 || code[k - 1].op != Opcode::LOAD_FAST) return false;
  return std::ranges::any_of(code, [&](const Instruction& i) {
    return i.op == Opcode::STORE_FAST && i.a == code[k - 1].a && i.pos.line == test.line;
  });
}

// The statement is `assert x` or `assert x, constant`; else its message is what the call of AssertionError speaks of.
static bool has_constant_message(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  auto k = static_cast<std::size_t>(f.current) + 1;
  while (k < code.size() && (code[k].op == Opcode::LOAD_CONST || code[k].op == Opcode::CALL)) ++k;
  return k < code.size() && code[k].op == Opcode::RAISE_VARARGS;
}

OPCODE(LOAD_ASSERTION_ERROR) {
  if (!t.config.trace_more && asserts_last_test(t, f)) graph_break<GB0002>(t.sizes.test.text());
  if (!t.config.trace_more && !t.uncaught() && has_constant_message(f)) graph_break<GB0034>(t.boolean(false)->print());
  f.push(t.from_object(PyExc_AssertionError, nullptr));
}

// sub-iterator, value sent last, exception → what was returned; what throw() does is the generator's business.
OPCODE(CLEANUP_THROW) {
  ValueRef e = f.pop();
  if (PyType_IsSubtype(e->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) graph_break<GB0024>();
  throw TracedRaise{e};
}

// Managers of the compiler's own package and modes below its class, and the one that does nothing.
static bool is_known_manager(PyTypeObject* type) {
  if (is_library_class(type, LibraryClass::FunctionMode)) return true;
  PyObject* const module = own_attribute(type, "__module__");
  const std::string name = module && PyUnicode_Check(module) ? text_of(module) : "";
  return name == "minidynamo" || name.starts_with("minidynamo.") ||
         (name == "contextlib" && std::string_view(type->tp_name) == "nullcontext");
}

// manager → exit, value
OPCODE(BEFORE_WITH) {
  ValueRef m = t.realize(f.pop());
  const int index = static_cast<int>(f.stack.size());
  PyRef exit_name = checked(PyUnicode_InternFromString("__exit__"));
  if (auto* c = as<ContextValue>(m)) {
    c->enter(t);
    f.push(make_ref<WithExitValue>(make_ref<BoundAttrValue>(m, exit_name)));
    f.push(c->which == ContextKind::Autocast                   ? ValueRef(c)
           : c->which == ContextKind::Null && !c->args.empty() ? c->args[0]
                                                               : t.none());
    f.contexts.push_back({m, index});
    return;
  }
  auto* o = as<ObjectValue>(m);
  ValueRef enter = o ? o->special(t, "__enter__") : ValueRef(), exit = o ? o->special(t, "__exit__") : ValueRef();
  if (o && (!enter || !exit) && !t.uncaught() &&
      !type_find(o->type, checked(PyUnicode_InternFromString(enter ? "__exit__" : "__enter__")).get()))
    t.raise(PyExc_TypeError, "'" + type_name(o->type) + "' object does not support the context manager protocol");
  if (!enter || !exit) graph_break<GB0142>(m->print());
  if (!t.config.trace_more && o->source && !f.is_library() && !is_known_manager(o->type))
    listed_break<GB0142>(m->print());
  f.push(make_ref<WithExitValue>(std::move(exit)));
  f.contexts.push_back({m, index});
  ValueRef entered = t.call(enter, {});
  f.push(std::move(entered));
}

// exit, lasti, prev, exc → the same, result of exit
OPCODE(WITH_EXCEPT_START) {
  ValueRef e = f.top();
  ValueRef exit = f.top(4);
  CallArgs args;
  PyRef traceback = checked(PyUnicode_InternFromString("__traceback__"));
  args.positional = {t.from_object(reinterpret_cast<PyObject*>(e->python_type()), nullptr), e,
                     e->get_attr(t, traceback.get())};
  const int index = static_cast<int>(f.stack.size()) - 4;
  if (!f.contexts.empty() && f.contexts.back().stack_index == index) f.contexts.pop_back();
  f.push(t.call(exit, std::move(args)));
}

}  // namespace md
