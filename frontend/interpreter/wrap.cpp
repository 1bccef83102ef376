// A real object and where it lives become a Value; looking at it records what was assumed.
#include "frontend/interpreter/wrap.h"

#include <algorithm>
#include <span>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/entries/compiled_object.h"
#include "frontend/marked_callables/marked_value.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/functions.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/library_values.h"
#include "frontend/values/objects.h"
#include "frontend/values/passed_iterators.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

PyRef type_object(PyObject* o) { return PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))); }

}  // namespace

ValueRef wrap_constant(Tracer& t, PyObject* o, SourceRef s) {
  if (o == Py_None) {
    t.guard(GuardKind::NoneMatch, s);
  } else if (o == Py_True || o == Py_False) {
    t.guard(o == Py_True ? GuardKind::TrueMatch : GuardKind::FalseMatch, s);
  } else if (PyFloat_CheckExact(o) && PyFloat_AS_DOUBLE(o) != PyFloat_AS_DOUBLE(o)) {
    t.guard(GuardKind::Nan, s);
  } else if (PyCode_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented || PyTuple_Check(o) ||
             is_library_value_type(Py_TYPE(o))) {
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  } else if (PyFrozenSet_CheckExact(o) && PySet_GET_SIZE(o) > 1) {
    t.guard(GuardKind::TypeMatch, s, type_object(o));
    t.guard(GuardKind::SetOrder, s, checked(PySequence_Tuple(o)));
  } else {
    t.guard(GuardKind::EqualsMatch, s, PyRef::borrow(o));
  }
  auto v = make_ref<ConstantValue>(PyRef::borrow(o));
  // An equal one is another object, except where there is only one.
  if (o != Py_None && o != Py_Ellipsis && o != Py_NotImplemented && !PyBool_Check(o)) v->source = s;
  return v;
}

namespace {

std::span<PyObject* const> items_of(PyObject* sequence) {
  return {PySequence_Fast_ITEMS(sequence), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence))};
}

std::vector<ValueRef> lazy_items(Tracer& t, PyObject* sequence, SourceRef s) {
  const PyRef fast = PyList_Check(sequence) ? checked(PyList_AsTuple(sequence)) : PyRef::borrow(sequence);
  std::vector<ValueRef> items;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  for (Py_ssize_t i = 0; i < n; ++i)
    items.push_back(t.lazy(PySequence_Fast_GET_ITEM(fast.get(), i),
                           t.recorder.sources.child(s, SourceKind::ListItem, nullptr, static_cast<int>(i))));
  return items;
}

constexpr Py_ssize_t kMostItems = 500'000;  // each has a value and a source, and what is used of it a guard

ValueRef wrap_sequence(Tracer& t, PyObject* o, SourceRef s) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  if (n > kMostItems && !t.config.fullgraph)
    throw SkipFrame{"a " + type_name(Py_TYPE(o)) + " of " + std::to_string(n) + " items is used"};
  if (!t.config.trace_more && std::ranges::find(items_of(o), o) != items_of(o).end()) listed_break<GB0197>();
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  t.guard(GuardKind::LengthCheck, s, {}, PyObject_Length(o));
  if (PyList_Check(o)) return make_ref<ListValue>(lazy_items(t, o, s));
  return make_ref<TupleValue>(lazy_items(t, o, s), Py_TYPE(o));
}

ValueRef wrap_dict(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  return wrap_dict_items(t, o, s);
}

ValueRef wrap_defaultdict(Tracer& t, PyObject* o, SourceRef s) {
  ValueRef v = wrap_dict(t, o, s);
  read_factory(t, static_cast<DictValue&>(*v), o, s);
  return v;
}

ValueRef wrap_slice(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  auto* sl = reinterpret_cast<PySliceObject*>(o);
  auto field = [&](PyObject* v, const char* name) {
    return t.lazy(v,
                  t.recorder.sources.child(s, SourceKind::RangeField, checked(PyUnicode_InternFromString(name)).get()));
  };
  return make_ref<SliceValue>(field(sl->start, "start"), field(sl->stop, "stop"), field(sl->step, "step"));
}

ValueRef wrap_range(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  for (const char* name : {"start", "stop", "step"}) {
    PyRef v = checked(PyObject_GetAttrString(o, name));
    t.guard(GuardKind::EqualsMatch,
            t.recorder.sources.child(s, SourceKind::RangeField, checked(PyUnicode_InternFromString(name)).get()), v);
  }
  return make_ref<RangeValue>(PyRef::borrow(o));
}

// Library code that nothing changes: no guards.
ValueRef wrap_polyfill(Tracer& t, PyFunctionObject* fn) {
  auto f = make_ref<FunctionValue>();
  f->code = PyRef::borrow(fn->func_code);
  f->globals = PyRef::borrow(fn->func_globals);
  f->builtins = PyRef::borrow(fn->func_builtins);
  f->qualname = PyRef::borrow(fn->func_qualname);
  for (Py_ssize_t i = 0; fn->func_defaults && i < PyTuple_GET_SIZE(fn->func_defaults); ++i)
    f->defaults.push_back(t.from_object(PyTuple_GET_ITEM(fn->func_defaults, i), nullptr));
  if (fn->func_kwdefaults)
    for (const auto& [k, v] : held_items(fn->func_kwdefaults))
      f->kwdefaults.emplace_back(k, t.from_object(v.get(), nullptr));
  return f;
}

// Globals that are read are kept alive by the sources of what was read, so that their address stays theirs.
SourceRef code_source(Tracer& t, const PyFunctionObject& fn, SourceRef s) {
  if (fn.func_globals == t.args.globals)
    return t.recorder.sources.child(s, SourceKind::FuncCode, nullptr, kOverOwnGlobals);
  return t.recorder.sources.child(s, SourceKind::FuncCode, checked(PyLong_FromVoidPtr(fn.func_globals)).get());
}

ValueRef wrap_function(Tracer& t, PyObject* o, SourceRef s) {
  auto* fn = reinterpret_cast<PyFunctionObject*>(o);
  if (is_fact(o)) return make_ref<BuiltinValue>(PyRef::borrow(o));
  if (in_polyfills(fn->func_globals)) return wrap_polyfill(t, fn);
  auto f = make_ref<FunctionValue>();
  f->code = PyRef::borrow(fn->func_code);
  f->globals = PyRef::borrow(fn->func_globals);
  f->builtins = PyRef::borrow(fn->func_builtins);
  f->parts = s;
  f->qualname = PyRef::borrow(fn->func_qualname);
  t.guard(GuardKind::IdMatch, code_source(t, *fn, s), f->code);
  if (fn->func_defaults)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fn->func_defaults); ++i)
      f->defaults.push_back(t.lazy(PyTuple_GET_ITEM(fn->func_defaults, i),
                                   t.recorder.sources.child(s, SourceKind::FuncDefault, nullptr, static_cast<int>(i))));
  if (fn->func_kwdefaults)
    for (const auto& [k, v] : held_items(fn->func_kwdefaults))
      f->kwdefaults.emplace_back(k, t.lazy(v.get(), t.recorder.sources.child(s, SourceKind::FuncKwDefault, k.get())));
  if (fn->func_closure)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fn->func_closure); ++i) {
      PyObject* cell = PyTuple_GET_ITEM(fn->func_closure, i);
      f->closure.push_back(Ref<CellValue>(as<CellValue>(
          t.wrap(cell, t.recorder.sources.child(s, SourceKind::FuncClosure, nullptr, static_cast<int>(i))))));
    }
  return f;
}

ValueRef wrap_method(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  ValueRef f = t.wrap(PyMethod_GET_FUNCTION(o), t.recorder.sources.child(s, SourceKind::MethodFunc));
  return make_ref<MethodValue>(f, t.lazy(PyMethod_GET_SELF(o), t.recorder.sources.child(s, SourceKind::MethodSelf)));
}

// A class statement made it, or type(): C code makes heap types as well.
bool is_python_class(PyTypeObject* type) {
  const destructor of_classes = made_once([] {
    const PyRef cls = checked(PyObject_GetAttrString(checked(import_module("abc")).get(), "ABC"));
    return reinterpret_cast<PyTypeObject*>(cls.get())->tp_dealloc;
  });
  return type->tp_dealloc == of_classes;
}

bool is_user_instance(PyTypeObject* type) {
  if (!type->tp_mro || !is_python_class(type)) return false;
  for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(type->tp_mro); ++i)
    if (is_c_type(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i)))) return false;
  return type->tp_dictoffset != 0 || type->tp_basicsize > PyBaseObject_Type.tp_basicsize ||
         type->tp_basicsize == PyBaseObject_Type.tp_basicsize;
}

void break_on_odd_module(const Tracer& t, PyObject* module) {
  PyObject** place = _PyObject_GetDictPtr(module);
  PyObject* own = place ? *place : nullptr;
  if (!own || PyDict_GET_SIZE(own) == 0) graph_break<GB0119>(type_name(Py_TYPE(module)));
  auto marked = [&](const char* name) {
    PyObject* mark = find_item(own, name);
    if (!mark) mark = type_find(Py_TYPE(module), checked(PyUnicode_InternFromString(name)).get());
    return mark && mark != Py_False && mark != Py_None;
  };
  // Nobody shards parameters here: the marks are attributes like others, and the registry lists them.
  if (!t.config.trace_more && marked("_is_fsdp_managed_module") && !marked("_fsdp_use_orig_params"))
    listed_break<GB0053>();
}

ValueRef wrap_other(Tracer& t, PyObject* o, SourceRef s) {
  PyTypeObject* type = Py_TYPE(o);
  break_on_listed_view(t, o);
  if (ValueRef v = wrap_library(t, o, s)) return v;
  if (ValueRef v = wrap_with_data(t, o, s)) return v;
  PyObject* const search = type_find(type, interned("__getattribute__").get());
  if (is_user_instance(type) &&
      (has_normal_getattribute(type) || has_getattr_hook(type) || (search && PyFunction_Check(search)))) {
    const bool enumeration = is_enumeration(type);
    t.guard(enumeration ? GuardKind::IdMatch : GuardKind::TypeMatch, s,
            enumeration ? PyRef::borrow(o) : type_object(o));
    if (is_library_class(type, LibraryClass::SymbolicInt)) graph_break<GB0018>();
    if (is_library_class(type, LibraryClass::HookHandle)) graph_break<GB0013>();
    if (!t.config.allow_rnn && is_library_class(type, LibraryClass::RecurrentModule))
      graph_break<GB0014>(type_name(type) + " at " + s->name);
    s->is_module = is_library_class(type, LibraryClass::Module);
    if (s->is_module) break_on_odd_module(t, o);
    return make_ref<ObjectValue>(type);
  }
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  return make_ref<OpaqueValue>(PyRef::borrow(o));
}

bool is_method_of_instance(PyObject* o) {
  PyObject* self = PyCFunction_CheckExact(o) || Py_IS_TYPE(o, &PyCMethod_Type) ? PyCFunction_GET_SELF(o) : nullptr;
  return self && !PyModule_Check(self) && !PyCallable_Check(self);  // methods of methods make chains of any length
}

// An object's method written in C, which every look-up binds anew; null: not the one its class has under that name.
ValueRef wrap_bound_method(Tracer& t, PyObject* o, SourceRef s) {
  auto* bound = reinterpret_cast<PyCFunctionObject*>(o);
  PyRef name = checked(PyUnicode_InternFromString(bound->m_ml->ml_name));
  PyTypeObject* const type = Py_TYPE(bound->m_self);
  PyObject* const found = type_find(type, name.get());
  if (!found || Py_TYPE(found) != &PyMethodDescr_Type ||
      reinterpret_cast<PyMethodDescrObject*>(found)->d_method != bound->m_ml)
    return {};
  t.expect_on_class(type, name.get(), found);
  t.guard(GuardKind::CMethod, s, name, reinterpret_cast<std::intptr_t>(bound->m_ml));
  return make_ref<BoundAttrValue>(t.wrap(bound->m_self, t.recorder.sources.child(s, SourceKind::MethodSelf)), name);
}

// A special method of a constant, or of a method written in C, that was taken from it outside; null: of something else.
ValueRef wrap_special_method(Tracer& t, PyObject* o, SourceRef s) {
  const PyRef self = checked(PyObject_GetAttrString(o, "__self__")),
              name = checked(PyObject_GetAttrString(o, "__name__"));
  const PyTypeObject* const type = Py_TYPE(self.get());
  if (type != &PyWrapperDescr_Type && type != &PyMethodDescr_Type && !is_constant_object(self.get())) return {};
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  return make_ref<BoundAttrValue>(t.from_object(self.get(), nullptr), name);
}

ValueRef wrap_cell(Tracer& t, PyObject* o, SourceRef s) {
  // Where a function keeps its cells there is nothing else.
  if (s->kind != SourceKind::FreeCell && s->kind != SourceKind::FuncClosure)
    t.guard(GuardKind::TypeMatch, s, type_object(o));
  return make_ref<CellValue>();
}

// Inlined: the inner backend and options play no part.
ValueRef wrap_compiled(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  PyObject* traced = compiled_function_traced(o);
  return wrap_function(t, traced, t.recorder.sources.constant(traced, s->name));
}

// The function, which knows as what overrides are asked about it.
ValueRef wrap_overridable(Tracer& t, PyObject* o, SourceRef s) {
  if (s) t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  PyObject* const function = function_of_overridable(o);
  ValueRef f = wrap_function(t, function, t.recorder.sources.constant(function, s ? s->name : ""));
  if (auto* traced = as<FunctionValue>(f)) traced->overridable = PyRef::borrow(o);
  return f;
}

template <class V>
ValueRef wrap_by_identity(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  return make_ref<V>(PyRef::borrow(o));
}

ValueRef wrap_class(Tracer& t, PyObject* o, SourceRef s) {
  // Its mro() is running, or its bases are being set.
  if (!reinterpret_cast<PyTypeObject*>(o)->tp_mro) unmodelled(s->name, "class that has no method resolution order yet");
  return wrap_by_identity<ClassValue>(t, o, s);
}

bool has_rule(Tracer&, PyObject* o) { return find_builtin_rule(o) || is_numpy_constant(o) || library_row(o); }

template <PyTypeObject&... types>
bool is_exactly(Tracer&, PyObject* o) {
  return ((Py_TYPE(o) == &types) || ...);
}

struct WrapRow {
  bool (*fits)(Tracer& t, PyObject* o);
  ValueRef (*wrap)(Tracer& t, PyObject* o, SourceRef s);  // null: the rows below are asked
};

// Asked in order: what the program or the library says of an object comes before its type.
constexpr WrapRow kWrapRows[] = {
    {[](Tracer&, PyObject*) { return true; }, wrap_marked},
    {is_exactly<PyList_Type, PyTuple_Type>, wrap_sequence},
    {[](Tracer&, PyObject* o) { return is_size_type(Py_TYPE(o)); }, wrap_sequence},
    {[](Tracer& t, PyObject* o) {
       return PyTuple_Check(o) && own_attribute(Py_TYPE(o), "_fields") && is_usual_namedtuple(t, Py_TYPE(o));
     },
     wrap_sequence},
    {[](Tracer&, PyObject* o) { return Py_TYPE(o) == deque_type(); }, wrap_deque},
    {is_exactly<PyDict_Type, PyODict_Type>, wrap_dict},
    {[](Tracer&, PyObject* o) { return is_defaultdict(Py_TYPE(o)); }, wrap_defaultdict},
    {is_exactly<PySet_Type, PyFrozenSet_Type>, wrap_set},
    {is_exactly<PyDictProxy_Type, PyDictKeys_Type, PyDictValues_Type, PyDictItems_Type>, wrap_listed_view},
    {is_exactly<PySlice_Type>, wrap_slice},
    {is_exactly<PyRange_Type>, wrap_range},
    {[](Tracer&, PyObject* o) { return is_followed_iterator(o); }, wrap_followed_iterator},
    {is_exactly<PyCell_Type>, wrap_cell},
    {has_rule, wrap_by_identity<BuiltinValue>},
    {is_exactly<PyFunction_Type>, wrap_function},
    {[](Tracer&, PyObject* o) { return is_compiled_function(o); }, wrap_compiled},
    {[](Tracer&, PyObject* o) { return is_overridable_function(o); }, wrap_overridable},
    {is_exactly<PyMethod_Type>, wrap_method},
    {[](Tracer&, PyObject* o) { return Py_TYPE(o) == partial_type(); }, wrap_partial},
    {[](Tracer&, PyObject* o) { return is_op_function(o); }, wrap_by_identity<OpFunctionValue>},
    {[](Tracer&, PyObject* o) { return PyModule_Check(o) && has_normal_getattribute(Py_TYPE(o)); },
     wrap_by_identity<ModuleValue>},
    {[](Tracer&, PyObject* o) { return PyType_Check(o) != 0; }, wrap_class},
    {[](Tracer&, PyObject* o) { return is_method_of_instance(o); }, wrap_bound_method},
    {[](Tracer&, PyObject* o) { return is_method_wrapper(o); }, wrap_special_method},
    {is_exactly<PyCFunction_Type, PyCMethod_Type, PyMethodDescr_Type, PyWrapperDescr_Type, PyClassMethodDescr_Type>,
     wrap_by_identity<BuiltinValue>},
    {[](Tracer&, PyObject* o) { return is_tensor_access(o); }, wrap_by_identity<BuiltinValue>},
    {[](Tracer&, PyObject* o) { return is_call_cache(o); }, wrap_by_identity<BuiltinValue>},
    {[](Tracer&, PyObject*) { return true; }, wrap_other}};

}  // namespace

ValueRef wrap_by_type(Tracer& t, PyObject* o, SourceRef s) {
  for (const WrapRow& row : kWrapRows)
    if (row.fits(t, o))
      if (ValueRef v = row.wrap(t, o, s)) return v;
  throw InternalError("no row wraps " + s->name);
}

}  // namespace md
