// Runs compile-time code on a ComptimeContext made from the frames, graph and locals of the trace.
#include "frontend/marked_callables/comptime.h"

#include "frontend/cpython/import_module.h"
#include "frontend/report/events.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/frame_places.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"

namespace md {

namespace {

// (name, what the tracer knows) of each local variable that is bound.
PyRef known_locals(const SymbolicFrame& f) {
  PyRef locals = checked(PyList_New(0));
  for (std::size_t k = 0; k < f.slots.size() && k < f.body->slot_names.size(); ++k) {
    if (is_null(f.slots[k])) continue;
    PyRef pair = checked(PyTuple_Pack(2, f.body->slot_names[k].get(), py_str(f.slots[k]->print()).get()));
    checked(PyList_Append(locals.get(), pair.get()));
  }
  return locals;
}

// What a value is outside of the trace, if it is anything there.
PyRef object_of(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (v->source)
    if (PyRef o = load(v->source, t.args)) return o;
  if (v->kind == ValueKind::Constant || v->real) return v->kind == ValueKind::Constant ? v->as_constant() : v->real;
  unmodelled(v->print(), "value of the trace in compile-time code");
}

// A lambda or function made while tracing, over what is known of the variables it takes from outside.
PyRef made_function(Tracer& t, const FunctionValue& f) {
  PyRef function = checked(PyFunction_NewWithQualName(f.code.get(), f.globals.get(), f.qualname.get()));
  if (!f.defaults.empty()) {
    PyRef defaults = checked(PyTuple_New(static_cast<Py_ssize_t>(f.defaults.size())));
    for (std::size_t k = 0; k < f.defaults.size(); ++k)
      PyTuple_SET_ITEM(defaults.get(), static_cast<Py_ssize_t>(k), object_of(t, f.defaults[k]).release());
    checked(PyFunction_SetDefaults(function.get(), defaults.get()));
  }
  if (f.closure.empty()) return function;
  PyRef closure = checked(PyTuple_New(static_cast<Py_ssize_t>(f.closure.size())));
  for (std::size_t k = 0; k < f.closure.size(); ++k) {
    const ValueRef held = f.closure[k]->get(t);
    PyRef cell = checked(PyCell_New(held ? object_of(t, held).get() : nullptr));
    PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(k), cell.release());
  }
  checked(PyFunction_SetClosure(function.get(), closure.get()));
  return function;
}

}  // namespace

// The Python class asks for a break by an exception of its own.
ValueRef call_comptime(Tracer& t, const std::string& method, CallArgs args) {
  PyRef module = checked(import_module("minidynamo._dynamo.comptime"));
  PyRef context =
      checked(PyObject_CallMethod(module.get(), "ComptimeContext", "OsO", frames_list(placed_frames(t)).get(),
                                  print_code(*t.graphs.current, {}).c_str(), known_locals(t.frame()).get()));
  PyRef result;
  t.compile_time_code = true;
  if (method == "__call__") {
    // The second argument is what plain Python calls.
    if (args.positional.empty() || args.positional.size() > 2)
      t.raise(PyExc_TypeError, "comptime() takes a function and, for plain Python, another");
    auto* f = as<FunctionValue>(t.realize(args[0]));
    if (!f) unmodelled(args[0]->print(), "compile-time code that is no Python function");
    PyRef function = f->real ? f->real : made_function(t, *f);
    result = PyRef::steal(PyObject_CallOneArg(function.get(), context.get()));
  } else {
    PyRef texts = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
    for (std::size_t k = 0; k < args.positional.size(); ++k) {
      ValueRef v = t.realize(args[k]);
      PyRef c = v->as_constant();
      PyTuple_SET_ITEM(texts.get(), static_cast<Py_ssize_t>(k), (c ? c : py_str(v->print())).release());
    }
    PyRef bound = PyRef::steal(PyObject_GetAttrString(context.get(), method.c_str()));
    if (!bound) t.raise_current();
    result = PyRef::steal(PyObject_CallObject(bound.get(), texts.get()));
  }
  if (result) return t.none();
  PyRef error = take_exception();
  if (PyObject_IsInstance(error.get(), checked(PyObject_GetAttrString(module.get(), "BreakRequest")).get()) == 1)
    graph_break<GB0030>(text_of(error.get()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  t.raise_current();
}

}  // namespace md
