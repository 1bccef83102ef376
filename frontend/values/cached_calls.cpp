// Calls of functions behind functools.lru_cache: hits, misses, and what either assumes.
#include "frontend/values/cached_calls.h"

#include <algorithm>
#include <cmath>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/native_type.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_text.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/objects.h"
#include "frontend/values/type_expressions.h"

namespace md {

namespace {

// enter(cache, result, arguments...) and fail(cache, arguments...): what a run calls for what the cache did not hold.
PyObject* enter_call(PyObject* const* args, Py_ssize_t n, PyObject* names, bool has_result) {
  const Py_ssize_t first = has_result ? 2 : 1;
  const PyRef positional = checked(PyTuple_New(n - first));
  for (Py_ssize_t k = first; k < n; ++k) PyTuple_SET_ITEM(positional.get(), k - first, Py_NewRef(args[k]));
  const PyRef keywords = names ? checked(PyDict_New()) : PyRef();
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k)
    checked(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, k), args[n + k]));
  enter_result(args[0], positional.get(), keywords.get(), has_result ? args[1] : nullptr);
  return Py_NewRef(Py_None);
}

template <bool has_result>
PyObject* entered(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    return enter_call(args, n, names, has_result);
  } catch (const PythonError&) {
    return nullptr;
  }
}

template <bool has_result>
PyObject* enter_function() {
  static PyMethodDef method{has_result ? "enter" : "fail",
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entered<has_result>)),
                            METH_FASTCALL | METH_KEYWORDS, nullptr};
  return made_once([] { return checked(PyCFunction_New(&method, nullptr)).release(); });
}

// What a key may hold: nothing of the program's that would live on in it, or that its code compares.
bool is_value(PyObject* o) {
  if (PyFloat_CheckExact(o)) return !std::isnan(PyFloat_AS_DOUBLE(o));
  if (PyTuple_CheckExact(o) || is_size_type(Py_TYPE(o))) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
      if (!is_value(PyTuple_GET_ITEM(o, k))) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(o)) {
    const PyRef members = checked(PySequence_Tuple(o));
    return is_value(members.get());
  }
  DType ignored;
  const bool fixed_class =
      PyType_Check(o) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE);
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ||
         (is_enumeration(Py_TYPE(o)) && is_plain(o)) || fixed_class || md_is_plain_pattern(o) ||
         (as_dtype(o, ignored) && is_plain(o));
}

// In front of the address of a value that no cache holds yet: no key of the program's is such a pair.
PyObject* new_argument_mark() {
  return made_once(
      [] { return checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release(); });
}

// Of a class whose objects are keys by what they are.
bool is_key_by_identity(Tracer& t, const ValueRef& v) {
  if (v->kind == ValueKind::Tensor || v->kind == ValueKind::Function) return true;
  if (v->real && v->source && v->kind != ValueKind::Object && v->kind != ValueKind::Constant) {
    const PyTypeObject* const type = Py_TYPE(v->real.get());
    return hashes_by_identity(type) && type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  }
  if (v->kind != ValueKind::Object || as<ObjectValue>(v)->payload) return false;
  PyTypeObject* const type = v->python_type();
  for (const char* name : {"__hash__", "__eq__"}) {
    PyObject* const found = type_find(type, interned(name).get());
    if (found != type_find(&PyBaseObject_Type, interned(name).get())) return false;
    t.expect_on_class(type, interned(name).get(), found);
  }
  return true;
}

// One call in the trace of a cache.
struct CachedCall {
  Tracer& t;
  ValueRef self;
  PyObject* cache;
  CallArgs args;
  PyRef positional, keywords, key, names;
  bool is_new = false;  // with an argument that no call before can have had

  CachedCall(Tracer& t, BuiltinValue& callee, CallArgs given)
      : t(t), self(&callee), cache(callee.real.get()), args(std::move(given)) {
    const auto constant = [&](ValueRef& v) {
      v = t.realize(v);
      if (is_key_by_identity(t, v) || is_member(v)) return part_of_key(v);
      for (ValueKind k : {ValueKind::List, ValueKind::Dict, ValueKind::Deque})
        if (v->kind == k) (void)key_object(t, v);  // raises, since it is not hashable
      PyRef c = v->kind == ValueKind::Size ? PyRef() : v->as_constant();
      if (!c || !is_value(c.get()))
        unmodelled(text(), "call of a cached function with an argument that is no constant");
      return c;
    };
    positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
    for (std::size_t k = 0; k < args.positional.size(); ++k)
      PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(k), constant(args.positional[k]).release());
    if (args.keywords.empty()) return;
    keywords = checked(PyDict_New());
    names = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
    for (std::size_t k = 0; k < args.keywords.size(); ++k) {
      checked(PyDict_SetItem(keywords.get(), args.keywords[k].first.get(), constant(args.keywords[k].second).get()));
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), PyRef(args.keywords[k].first).release());
    }
  }

  static bool is_member(const ValueRef& v) {
    return v->real && v->source && is_enumeration(Py_TYPE(v->real.get())) && is_plain(v->real.get());
  }

  // Objects from outside are told by guards, and tensors that the trace makes are new in every call. A tensor from
  // outside may be one that the cache knows or not: another one in each call, whose result only a run can look up.
  PyRef part_of_key(const ValueRef& v) {
    if (v->kind == ValueKind::Tensor && v->source)
      unmodelled(text(), "call of a cached function with a tensor from outside");
    if (v->kind != ValueKind::Tensor && v->real && v->source) {
      t.guard(GuardKind::IdMatch, v->source, v->real);
      return v->real;
    }
    is_new = true;
    return checked(PyTuple_Pack(2, new_argument_mark(), checked(PyLong_FromVoidPtr(v.get())).get()));
  }

  std::string text() const { return "UserDefinedObjectVariable(" + type_name(Py_TYPE(cache)) + ")"; }

  bool same(const ValueRef& other) const {
    const int equal = PyObject_RichCompareBool(other->as_constant().get(), key.get(), Py_EQ);
    if (equal < 0) throw PythonError{};
    return equal == 1;
  }

  // What earlier calls of this trace did to the cache.
  struct Earlier {
    ValueRef entered;  // under this key
    bool used = false, enters = false;
    std::size_t others = 0;  // keys, where the cache has a limit
  };
  Earlier earlier() const {
    Earlier e;
    std::vector<PyRef> others;
    for (const SideEffect& done : t.effects.list()) {
      if (done.kind != EffectKind::Call || done.target.get() != self.get() || !done.key) continue;
      const bool enters = is_enter(done);
      e.enters |= enters;
      if (same(done.key)) {
        e.used = true;
        if (enters) e.entered = done.items[1];
        continue;
      }
      if (cache_limit(cache) < 0) continue;
      const PyRef other = done.key->as_constant();
      const auto equal = [&](const PyRef& o) { return PyObject_RichCompareBool(o.get(), other.get(), Py_EQ) == 1; };
      if (std::ranges::none_of(others, equal)) others.push_back(other);
    }
    e.others = others.size();
    return e;
  }

  static bool is_enter(const SideEffect& e) { return e.value->real.get() == enter_function<true>(); }

  void record(ValueRef callee, std::vector<ValueRef> first) {
    SideEffect e{EffectKind::Call, self};
    e.value = std::move(callee);
    if (key) e.key = t.constant(key);
    e.items = std::move(first);
    e.items.insert(e.items.end(), args.positional.begin(), args.positional.end());
    for (const auto& [name, v] : args.keywords) e.items.push_back(v);
    e.name = names;
    t.effects.record(std::move(e));
  }
  void record_use() { record(self, {}); }
  static ValueRef builtin(PyObject* function) { return make_ref<BuiltinValue>(PyRef::borrow(function)); }

  ValueRef compute() {
    const SourceRef place =
        t.recorder.sources.child(self->source, SourceKind::Field, checked(PyUnicode_FromString("__wrapped__")).get());
    const ValueRef function = t.wrap(cached_function(cache), place);
    ValueRef result;
    try {
      result = t.call(function, args);
    } catch (const TracedRaise&) {
      record(builtin(enter_function<false>()), {self});
      t.effects.list().back().key = {};
      throw;
    }
    record(builtin(enter_function<true>()), {self, result});
    return result;
  }

  ValueRef call() {
    const Py_ssize_t limit = cache_limit(cache);
    if (limit == 0) return compute();
    key = cache_key(cache, positional.get(), keywords.get());
    if (!is_plain(key.get())) unmodelled(text(), "call of a cached function with an argument that is no constant");
    const Earlier before = earlier();
    if (limit > 0 && before.others >= static_cast<std::size_t>(limit))
      unmodelled(text(), "more results than the cache keeps");
    if (before.entered) return record_use(), before.entered;
    if (is_new) return compute();
    auto& sources = t.recorder.sources;
    SourceRef place = sources.child(self->source, SourceKind::Field, checked(PyUnicode_FromString("cache")).get());
    place = sources.child(place, SourceKind::DictItem, key.get());
    const Found held = dict_find(cached_results(cache), key.get());
    if (held.status == Lookup::Undecidable) unmodelled(text(), "keys in a cache that the program's code compares");
    if (held.status == Lookup::Missing) {
      t.guard(GuardKind::NotPresent, place);
      return compute();
    }
    if (limit > 0 && before.enters && !before.used) unmodelled(text(), "result that the cache may have let go");
    t.expect_present(place);
    record_use();
    if (limit < 0) return t.lazy(held.value, place);
    place = sources.child(place, SourceKind::Field, checked(PyUnicode_FromString("result")).get());
    return t.lazy(cached_result(held.value), place);
  }
};

}  // namespace

// List[int] and its like: functions of types that never change, whose results nobody tells from new ones.
static ValueRef call_typing(Tracer& t, BuiltinValue& callee, const CallArgs& args) {
  PyObject* const function = cached_function(callee.real.get());
  const PyRef typing = loaded_library("typing");
  if (!typing || !PyFunction_Check(function) || PyFunction_GET_GLOBALS(function) != PyModule_GetDict(typing.get()))
    return {};
  const PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (std::size_t k = 0; k < args.positional.size(); ++k) {
    PyRef of_type = type_expression(t, args.positional[k]);
    if (!of_type) return {};
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(k), of_type.release());
  }
  const PyRef keywords = args.keywords.empty() ? PyRef() : checked(PyDict_New());
  for (const auto& [name, v] : args.keywords) {
    const PyRef of_type = type_expression(t, v);
    if (!of_type) return {};
    checked(PyDict_SetItem(keywords.get(), name.get(), of_type.get()));
  }
  const PyRef r = PyRef::steal(PyObject_Call(callee.real.get(), positional.get(), keywords.get()));
  if (!r) t.raise_current();
  return t.from_object(r.get(), nullptr);
}

ValueRef call_cached(Tracer& t, BuiltinValue& callee, CallArgs args) {
  if (ValueRef type = call_typing(t, callee, args)) return type;
  CachedCall call(t, callee, std::move(args));
  if (!callee.source || !PyFunction_Check(cached_function(call.cache)))
    unmodelled(call.text(), "call of a cached function that is not the program's");
  return call.call();
}

}  // namespace md
