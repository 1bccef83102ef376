// Sends operations of a library object to its Python class, and rebuilds the real object by its recipe.
#include "frontend/values/polyfilled.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"

namespace md {

namespace {

// Once a trace has returned there is no frame left to call from: one of the callee's code stands below the call.
class CallingFrame {
 public:
  CallingFrame(Tracer& t, const FunctionValue& callee) : t_(t), logged_(std::exchange(t.log_traces, false)) {
    if (!t.stack.frames.empty()) return;
    auto f = std::make_unique<SymbolicFrame>();
    f->code = callee.code;
    f->body = decoded_body(reinterpret_cast<PyCodeObject*>(callee.code.get()));
    f->globals = callee.globals, f->builtins = callee.builtins;
    f->own_globals = false;
    t.stack.frames.push_back(std::move(f));
    pushed_ = true;
  }
  ~CallingFrame() {
    if (pushed_) t_.stack.frames.clear();
    t_.log_traces = logged_;
  }
  CallingFrame(const CallingFrame&) = delete;
  CallingFrame& operator=(const CallingFrame&) = delete;

 private:
  Tracer& t_;
  bool logged_, pushed_ = false;
};

// The arguments fit the callee's parameters; bound to nothing.
bool fits(Tracer& t, FunctionValue& function, const CallArgs& args) {
  auto body = decoded_body(reinterpret_cast<PyCodeObject*>(function.code.get()));
  std::vector<ValueRef> slots(body->slot_names.size());
  try {
    bind_call(t, function, *body, args, slots);
  } catch (const TracedRaise&) {
    return false;
  }
  return true;
}

}  // namespace

std::string PolyfilledValue::print() const { return "UserDefinedObjectVariable(" + type_name(type) + ")"; }

// A function of the module that has its class, whose first argument is this object: for other polyfills, too, it is
// what it stands for.
bool PolyfilledValue::seen_from_inside(Tracer& t) {
  if (t.stack.frames.empty() || t.frame().slots.empty()) return false;
  PyObject* const globals = t.frame().globals.get();
  if (!in_polyfills(globals) || find_item(globals, "__name__") != type_find(code, interned("__module__").get()))
    return false;
  ValueRef first = t.frame().slots[0];
  if (auto* cell = as<CellValue>(first)) first = cell->content;
  return first.get() == this;
}

ValueRef PolyfilledValue::method(Tracer& t, const char* name) {
  PyObject* found = type_find(code, interned(name).get());
  if (!found || !PyFunction_Check(found)) return {};
  return make_ref<MethodValue>(t.wrap(found, nullptr), ValueRef(this));
}

ValueRef PolyfilledValue::part(Tracer& t, PyObject* name) {
  for (auto& [k, v] : parts)
    if (PyUnicode_Compare(k.get(), name) == 0) return v;
  if (ValueRef m = method(t, utf8_of(name))) return m;
  PyObject* found = type_find(code, name);
  if (!found) throw InternalError("a polyfilled object has no part " + text_of(name));
  return t.from_object(found, nullptr);
}

ValueRef PolyfilledValue::get_attr(Tracer& t, PyObject* name) {
  if (seen_from_inside(t)) return part(t, name);
  const std::string n = text_of(name);
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
  PyObject* own = type_find(code, name);
  if (own && Py_TYPE(own) == &PyProperty_Type) {
    PyRef get = checked(PyObject_GetAttrString(own, "fget"));
    return t.call(t.wrap(get.get(), nullptr), CallArgs{{ValueRef(this)}, {}});
  }
  PyObject* found = type_find(type, name);
  if (found && is_method(found)) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (ValueRef hook = method(t, "__getattr__")) return t.call(hook, CallArgs{{t.constant(name)}, {}});
  if (!found) t.raise(PyExc_AttributeError, std::string("'") + type->tp_name + "' object has no attribute '" + n + "'");
  unmodelled(print() + "." + n, "attribute computed outside the traced program");
}

void PolyfilledValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (!seen_from_inside(t)) {
    ValueRef hook = method(t, v ? "__setattr__" : "__delattr__");
    if (!hook) return Value::set_attr(t, name, std::move(v));
    CallArgs args{{t.constant(name)}, {}};
    if (v) args.positional.push_back(std::move(v));
    t.call(hook, std::move(args));
    return;
  }
  for (auto& [k, held] : parts)
    if (PyUnicode_Compare(k.get(), name) == 0) {
      held = std::move(v);
      return;
    }
  parts.emplace_back(PyRef::borrow(name), std::move(v));
}

ValueRef PolyfilledValue::call(Tracer& t, CallArgs args) {
  if (ValueRef m = method(t, "__call__")) return t.call(m, std::move(args));
  return Value::call(t, std::move(args));
}

ValueRef PolyfilledValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  ValueRef m = method(t, n.c_str());
  if (m && fits(t, *as<FunctionValue>(static_cast<MethodValue*>(m.get())->function), [&] {
        CallArgs all = args;
        all.positional.insert(all.positional.begin(), ValueRef(this));
        return all;
      }()))
    return t.call(m, std::move(args));
  if (n == "__iter__" && args.size() == 0) return iter(t);
  unmodelled_method(*this, n, args);
}

ValueRef PolyfilledValue::get_item(Tracer& t, const ValueRef& key) {
  ValueRef m = method(t, "__getitem__");
  return m ? t.call(m, CallArgs{{key}, {}}) : Value::get_item(t, key);
}

void PolyfilledValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  ValueRef m = method(t, v ? "__setitem__" : "__delitem__");
  if (!m) return Value::set_item(t, key, std::move(v));
  CallArgs args{{key}, {}};
  if (v) args.positional.push_back(std::move(v));
  t.call(m, std::move(args));
}

std::optional<std::int64_t> PolyfilledValue::length(Tracer& t) {
  ValueRef m = method(t, "__len__");
  std::int64_t n;
  if (!m || !constant_int(t.realize(t.call(m, {})), n)) return Value::length(t);
  return n;
}

bool PolyfilledValue::truth(Tracer& t) {
  if (ValueRef m = method(t, "__bool__")) return t.realize(t.call(m, {}))->truth(t);
  return method(t, "__len__") ? *length(t) != 0 : Value::truth(t);
}

ValueRef PolyfilledValue::iter(Tracer& t) {
  if (type->tp_iter == PyObject_SelfIter) return ValueRef(this);
  ValueRef m = method(t, "__iter__");
  return m ? t.realize(t.call(m, {})) : Value::iter(t);
}

ValueRef PolyfilledValue::next(Tracer& t) {
  ValueRef m = type->tp_iternext ? method(t, "__next__") : ValueRef();
  if (!m) return Value::next(t);
  try {
    return t.call(m, {});
  } catch (const TracedRaise& e) {
    if (e.exception->python_type() != reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) throw;
    return {};
  }
}

bool PolyfilledValue::contains(Tracer& t, const ValueRef& item) {
  if (ValueRef m = method(t, "__contains__")) return t.realize(t.call(m, CallArgs{{item}, {}}))->truth(t);
  ValueRef it = iter(t);
  while (ValueRef v = it->next(t))
    if (values_equal(t, v, item)) return true;
  return false;
}

// The call (callable, arguments[, draws[, keywords]]) that makes the real object, as `rebuilt` of its class tells it.
static Reg call_recipe(PlanBuilder& b, const TupleValue& recipe) {
  Tracer& t = b.tracer;
  PlanStep call{StepOp::Call};
  call.a = b.rebuild(t.realize(recipe.items.at(0)));
  const bool backward = t.realize(recipe.items[0])->real.get() == reinterpret_cast<PyObject*>(&PyReversed_Type);
  for (auto& v : collect(t, recipe.items.at(1))) {
    if (backward && is_changed(b, t.realize(v))) graph_break<GB0092>(recipe.print());
    call.regs.push_back(b.rebuild(v));
  }
  if (recipe.items.size() > 3) {
    auto* keywords = as<DictValue>(t.realize(recipe.items[3]));
    PyRef names = checked(PyList_New(0));
    for (auto& e : keywords->live()) {
      checked(PyList_Append(names.get(), e.key->as_constant().get()));
      call.regs.push_back(b.rebuild(e.value));
    }
    call.object = checked(PyList_AsTuple(names.get()));
  }
  return b.step(std::move(call));
}

// After the call next() is called `draws` times, which runs none of the program's code.
Reg PolyfilledValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  Tracer& t = b.tracer;
  ValueRef m = method(t, "rebuilt");
  if (!m) throw InternalError("a polyfill's class without rebuilt(): " + print());
  ValueRef recipe;
  {
    const CallingFrame caller(t, *as<FunctionValue>(static_cast<MethodValue*>(m.get())->function));
    recipe = t.realize(t.call(m, {}));
  }
  auto* made = as<TupleValue>(recipe);
  if (!made) throw InternalError("rebuilt() of a polyfill's class gave no tuple: " + print());
  Reg r = call_recipe(b, *made);
  std::int64_t skip = 0;
  if (made->items.size() > 2 && constant_int(t.realize(made->items[2]), skip) && skip > 0) r = b.advanced(r, skip);
  return r;
}

ValueRef call_library(Tracer& t, PyObject* callee, PyObject* row, CallArgs args) {
  if (!PyType_Check(row)) {
    ValueRef f = t.wrap(row, nullptr);
    if (!fits(t, *as<FunctionValue>(f), args)) refuse_arguments(t, callee, args);
    return t.call(f, std::move(args));
  }
  // A class method that makes objects: chain.from_iterable.
  PyObject* type = PyType_Check(callee) ? callee : PyCFunction_GET_SELF(callee);
  auto self = make_ref<PolyfilledValue>(reinterpret_cast<PyTypeObject*>(type), reinterpret_cast<PyTypeObject*>(row));
  ValueRef init = self->method(t, "__init__");
  args.positional.insert(args.positional.begin(), self);
  ValueRef f = static_cast<MethodValue*>(init.get())->function;
  if (!fits(t, *as<FunctionValue>(f), args)) {
    args.positional.erase(args.positional.begin());
    refuse_arguments(t, callee, args);
  }
  t.call(f, std::move(args));
  return self;
}

ValueRef call_polyfill(Tracer& t, const std::string& module, const char* function, std::vector<ValueRef> args) {
  PyRef code = checked(import_module(("minidynamo.polyfills." + module).c_str()));
  PyRef callee = checked(PyObject_GetAttrString(code.get(), function));
  return t.realize(t.call(t.wrap(callee.get(), nullptr), {std::move(args), {}}));
}

// Of a real object that keeps all it has in its dictionary, which its polyfill calls `values`.
static ValueRef wrap_values(Tracer& t, PyObject* o, PyTypeObject* code, SourceRef s) {
  PyRef name = interned("__dict__");
  SourceRef place = t.recorder.sources.child(s, SourceKind::Field, name.get());
  PyRef values = checked(PyObject_GetAttr(o, name.get()));
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  auto self = make_ref<PolyfilledValue>(Py_TYPE(o), code);
  self->parts.emplace_back(interned("values"), t.wrap(values.get(), place));
  return self;
}

// Of a real object whose state is its dictionary (a namespace), or whose parts never change and are constants (an
// operator.itemgetter). Null: something else.
ValueRef wrap_library(Tracer& t, PyObject* o, SourceRef s) {
  PyObject* row = library_row(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  if (!row) return {};
  if (PyType_Check(row) && type_find(reinterpret_cast<PyTypeObject*>(row), interned("keeps_values").get()))
    return wrap_values(t, o, reinterpret_cast<PyTypeObject*>(row), s);
  PyRef module = checked(import_module("minidynamo.polyfills.library"));
  PyRef call = checked(PyObject_CallMethod(module.get(), "call_that_made", "O", o));
  if (call.get() == Py_None) return {};
  CallArgs args;
  args.positional = collect(t, from_folded(t, PyTuple_GET_ITEM(call.get(), 0)));
  PyObject *k, *v;
  for (Py_ssize_t pos = 0; PyDict_Next(PyTuple_GET_ITEM(call.get(), 1), &pos, &k, &v);)
    args.keywords.emplace_back(PyRef::borrow(k), from_folded(t, v));
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  return call_library(t, reinterpret_cast<PyObject*>(Py_TYPE(o)), row, std::move(args));
}

ValueRef replaced_function(Tracer& t, FunctionValue& function, CallArgs& args) {
  if (function.closure.empty()) return {};
  PyObject* row = code_row(function.code.get());
  if (!row) return {};
  PyRef names = checked(PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(function.code.get())));
  std::vector<ValueRef> cells;
  for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(row); ++k) {
    const Py_ssize_t at = PySequence_Index(names.get(), PyTuple_GET_ITEM(row, k));
    if (at < 0) throw InternalError("a function of the library has other variables than expected");
    cells.push_back(t.realize(function.closure.at(static_cast<std::size_t>(at))->get(t)));
  }
  args.positional.insert(args.positional.begin(), cells.begin(), cells.end());
  return t.wrap(PyTuple_GET_ITEM(row, 0), nullptr);
}

ValueRef library_operator(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace) {
  const auto attempt = [&](const ValueRef& self, const std::string& name, const ValueRef& other) -> ValueRef {
    ValueRef r;
    if (auto* object = as<PolyfilledValue>(self)) {
      ValueRef m = object->method(t, name.c_str());
      if (m) r = t.call(m, CallArgs{{other}, {}});
    } else if (self->kind == ValueKind::Deque) {
      PyRef key = checked(PyUnicode_FromString(name.c_str()));
      PyObject* row = library_method(self->python_type(), key.get());
      if (row) r = t.call(t.wrap(row, nullptr), CallArgs{{self, other}, {}});
    }
    return r && is_true_constant(r, Py_NotImplemented) ? ValueRef() : r;
  };
  if (inplace)
    if (ValueRef r = attempt(a, "__i" + dunder + "__", b)) return r;
  if (ValueRef r = attempt(a, "__" + dunder + "__", b)) return r;
  return attempt(b, "__r" + dunder + "__", a);
}

}  // namespace md
