// Operations on constants run for real: attributes, methods, items, truth; their results become values again.
#include "frontend/values/constant.h"

#include <algorithm>

#include "frontend/cpython/made_once.h"
#include "frontend/cpython/native_type.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/containers.h"
#include "frontend/values/iterators.h"
#include "frontend/values/known_items.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/size_value.h"

namespace md {

ValueRef null_value() { return make_ref<NullValue>(); }

Reg NullValue::rebuild(PlanBuilder&) { throw InternalError("a NULL has no object"); }

Reg LazyValue::rebuild(PlanBuilder& b) { return realized ? b.rebuild(realized) : b.load_source(source); }

std::string ConstantValue::print() const {
  return std::string("ConstantVariable(") + Py_TYPE(real.get())->tp_name + ": " + repr_of(real.get()) + ")";
}

bool is_true_constant(const ValueRef& v, PyObject* singleton) {
  auto* c = as<ConstantValue>(v);
  return c && c->real.get() == singleton;
}

bool constant_int(const ValueRef& raw, std::int64_t& out) {
  const ValueRef v = raw && raw->kind == ValueKind::Object ? data_of(raw) : raw;
  if (auto* n = as<SizeValue>(v)) {
    out = PyLong_AsLongLong(n->as_constant().get());
    return true;
  }
  auto* c = as<ConstantValue>(v);
  if (!c || !PyLong_Check(c->real.get())) return false;
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(c->real.get(), &overflow);
  return overflow == 0;
}

bool constant_str(const ValueRef& v, std::string& out) {
  auto* c = as<ConstantValue>(v);
  if (!c || !PyUnicode_CheckExact(c->real.get())) return false;
  out = text_of(c->real.get());
  return true;
}

namespace {
std::vector<ValueRef> folded_items(Tracer& t, PyObject* iterable) {
  std::vector<ValueRef> out;
  PyRef it = checked(PyObject_GetIter(iterable));
  while (PyRef x = PyRef::steal(PyIter_Next(it.get()))) out.push_back(from_folded(t, x.get()));
  if (PyErr_Occurred()) throw PythonError{};
  return out;
}
}  // namespace

ValueRef from_folded(Tracer& t, PyObject* o) {
  if (is_constant_object(o)) return t.constant(o);
  if (PyTuple_CheckExact(o)) return make_ref<TupleValue>(folded_items(t, o));
  if (is_size_type(Py_TYPE(o))) return make_ref<TupleValue>(folded_items(t, o), Py_TYPE(o));
  if (PyList_CheckExact(o)) return make_ref<ListValue>(folded_items(t, o));
  if (PySet_Check(o)) {
    auto s = make_ref<SetValue>(PyFrozenSet_Check(o) != 0);
    for (auto& x : folded_items(t, o)) s->add(t, x);
    return s;
  }
  if (PyDict_CheckExact(o)) {
    auto d = make_ref<DictValue>(&PyDict_Type);
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &k, &v);) d->put(t, from_folded(t, k), from_folded(t, v));
    return d;
  }
  if (PyRange_Check(o)) return make_ref<RangeValue>(PyRef::borrow(o));
  return t.from_object(o, nullptr);
}

// Of int | None, which is made of what cannot change and compared by it.
static PyTypeObject* union_type() {
  return made_once(
      [] { return Py_TYPE(checked(PyNumber_Or(reinterpret_cast<PyObject*>(&PyLong_Type), Py_None)).get()); });
}

// An object that only this result holds, other than an immutable one: a copy in every call of the plain program.
static PyObject* made_anew(PyObject* o) {
  if (is_constant_object(o) || PyRange_Check(o) || PySet_Check(o)) return nullptr;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (PyObject* found = made_anew(PySequence_Fast_GET_ITEM(o, k))) return found;
    return nullptr;
  }
  if (PyDict_CheckExact(o)) {
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &k, &v);)
      if (PyObject* found = made_anew(v)) return found;
    return nullptr;
  }
  if (is_size_type(Py_TYPE(o)) || Py_TYPE(o) == union_type()) return nullptr;
  return Py_REFCNT(o) == 1 ? o : nullptr;
}

ValueRef from_result(Tracer& t, PyObject* o) {
  if (PyObject* fresh = made_anew(o)) unmodelled(type_name(Py_TYPE(fresh)), "new object a call on constants gives");
  return from_folded(t, o);
}

bool all_constant(const CallArgs& args, std::vector<PyRef>& positional, PyRef& kwargs) {
  for (auto& a : args.positional) {
    PyRef c = a->as_constant();
    if (!c) return false;
    positional.push_back(std::move(c));
  }
  if (args.keywords.empty()) return true;
  kwargs = checked(PyDict_New());
  for (auto& [name, v] : args.keywords) {
    PyRef c = v->as_constant();
    if (!c) return false;
    checked(PyDict_SetItem(kwargs.get(), name.get(), c.get()));
  }
  return true;
}

ValueRef ConstantValue::get_attr(Tracer& t, PyObject* name) {
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v) t.raise_current();
  if (is_constant_object(v.get())) return t.constant(v);
  if (PyType_Check(v.get())) return t.from_object(v.get(), nullptr);  // __class__
  if (PyTuple_CheckExact(v.get())) {                                  // co_consts of a code object
    ValueRef tuple = from_folded(t, v.get());
    if (checked(PyObject_GetAttr(real.get(), name)).get() == v.get()) tuple->real = v;
    return tuple;
  }
  if (PyCFunction_Check(v.get()) && type_find(Py_TYPE(real.get()), name) == v.get())
    return t.from_object(v.get(), nullptr);  // __new__, which nothing binds
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

// Or the locale: a date knows neither.
static bool asks_the_time_zone(PyObject* o, const std::string& method) {
  static const char* const names[] = {"timestamp", "astimezone", "strftime",      "__format__",      "now",
                                      "today",     "utcnow",     "fromtimestamp", "utcfromtimestamp"};
  return is_library_value_type(Py_TYPE(o)) && std::ranges::find(names, method) != std::end(names);
}

// Methods that look at the characters of texts they are given and hand on no such text itself: instances of subclasses
// of str are to them what they hold.
static bool looks_at_characters(PyObject* self, const std::string& method) {
  static const char* const of_text[] = {"startswith", "endswith",     "find",         "rfind",  "index",
                                        "rindex",     "count",        "split",        "rsplit", "strip",
                                        "lstrip",     "removeprefix", "removesuffix", "rstrip"};
  static const char* const of_pattern[] = {"findall", "split", "sub", "subn"};
  if (PyUnicode_CheckExact(self)) return std::ranges::find(of_text, method) != std::end(of_text);
  return md_is_plain_pattern(self) && std::ranges::find(of_pattern, method) != std::end(of_pattern);
}

// Methods of constants run for real: their types are immutable and run no user code.
ValueRef ConstantValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  if (text_of(name) == "__iter__" && args.size() == 0) return iter(t);
  std::vector<PyRef> positional;
  PyRef kwargs;
  PyTypeObject* joined = args.positional.empty() ? nullptr : t.realize(args[0])->python_type();
  if (text_of(name) == "join" && args.size() == 1 && joined && (joined->tp_iter || joined->tp_as_sequence)) {
    std::vector<ValueRef> parts = collect(t, t.realize(args.positional[0]));
    for (ValueRef& part : parts) part = t.realize(part);
    args.positional[0] = make_ref<ListValue>(std::move(parts));
  }
  const bool of_characters = looks_at_characters(real.get(), text_of(name));
  for (auto& a : args.positional) {
    a = t.realize(a);
    if (of_characters && a->python_type() && PyType_IsSubtype(a->python_type(), &PyUnicode_Type)) a = data_of(a);
  }
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  if (!all_known(t, args, positional, kwargs)) {
    if (PyObject* row = library_method(Py_TYPE(real.get()), name)) {
      args.positional.insert(args.positional.begin(), ValueRef(this));
      return call_library(t, type_find(Py_TYPE(real.get()), name), row, std::move(args));
    }
    unmodelled_method(*this, text_of(name), args);
  }
  if (asks_the_time_zone(real.get(), text_of(name))) unmodelled_method(*this, text_of(name), args);
  PyRef fn = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!fn) t.raise_current();
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef r = PyRef::steal(PyObject_Call(fn.get(), tuple.get(), kwargs.get()));
  if (!r) t.raise_current();
  if (PyIter_Check(r.get())) unmodelled_method(*this, text_of(name), args);  // every call has one of its own
  return from_result(t, r.get());
}

ValueRef ConstantValue::get_item(Tracer& t, const ValueRef& key) {
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return from_folded(t, r.get());
}

std::optional<std::int64_t> ConstantValue::length(Tracer& t) {
  const Py_ssize_t n = PyObject_Length(real.get());
  if (n < 0) t.raise_current();
  return n;
}

bool ConstantValue::truth(Tracer& t) {
  const int r = PyObject_IsTrue(real.get());
  if (r < 0) t.raise_current();
  return r != 0;
}

ValueRef ConstantValue::iter(Tracer& t) {
  PyRef it = PyRef::steal(PyObject_GetIter(real.get()));
  if (!it) t.raise_current();
  return make_ref<SequenceIterator>(folded_items(t, real.get()), t.realize(ValueRef(this)));
}

bool ConstantValue::contains(Tracer& t, const ValueRef& item) {
  PyRef k = t.realize(item)->as_constant();
  if (!k) return Value::contains(t, item);
  const int r = PySequence_Contains(real.get(), k.get());
  if (r < 0) t.raise_current();
  return r != 0;
}

Reg ConstantValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

}  // namespace md
