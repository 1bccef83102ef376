// A real object and where it lives become a Value; looking at it records what was assumed.
#include <algorithm>
#include <span>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/entries/compiled_object.h"
#include "frontend/hatches/hatch_value.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/subclass.h"
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
#include "frontend/values/objects.h"
#include "frontend/values/rules.h"
#include "frontend/values/size_value.h"
#include "frontend/values/stand_in.h"

namespace md {

ValueRef Tracer::lazy(PyObject* object, SourceRef source) {
  if (!source) return from_object(object, nullptr);
  if (source->depth > kDeepestSource)
    throw SkipFrame{"it walks more than " + std::to_string(kDeepestSource) + " steps into what it is given"};
  switch (source->kind) {
    // Found where a look-up might have failed: an exception handler tells the difference.
    case SourceKind::Global:
    case SourceKind::Builtin:
    case SourceKind::Attr:
    case SourceKind::InstanceDict:
    case SourceKind::TensorAttr:
    case SourceKind::CellContents:
      expect_present(source);
      break;
    default:
      break;
  }
  return make_ref<LazyValue>(object, source);
}

ValueRef Tracer::realize(const ValueRef& v) {
  auto* lazy = as<LazyValue>(v);
  if (!lazy) return v;
  if (!lazy->real && !lazy->realized) unmodelled(lazy->print(), "value that only a run knows");
  if (!lazy->realized) lazy->realized = wrap(lazy->real.get(), lazy->source);
  return lazy->realized;
}

ValueRef Tracer::constant(PyRef object) { return make_ref<ConstantValue>(std::move(object)); }

ValueRef Tracer::from_object(PyObject* object, SourceRef source) {
  if (!source && is_constant_object(object)) return constant(object);
  return wrap(object, source);
}

void Tracer::guard(GuardKind kind, SourceRef source, PyRef object, std::int64_t value) {
  // The entry holds a constant: only its content can change, and the class of an instance.
  const bool is_constant = source && source->kind == SourceKind::Constant;
  if (is_constant && kind == GuardKind::IdMatch) return;
  if (is_constant && kind == GuardKind::TypeMatch && !(Py_TYPE(source->object.get())->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return;
  Guard g{kind, source, std::move(object), value};
  g.where = user_frame();
  recorder.guards.add(std::move(g));
}

namespace {

PyRef type_object(PyObject* o) { return PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))); }

ValueRef wrap_constant(Tracer& t, PyObject* o, SourceRef s) {
  if (o == Py_None) {
    t.guard(GuardKind::NoneMatch, s);
  } else if (o == Py_True || o == Py_False) {
    t.guard(o == Py_True ? GuardKind::TrueMatch : GuardKind::FalseMatch, s);
  } else if (PyFloat_CheckExact(o) && PyFloat_AS_DOUBLE(o) != PyFloat_AS_DOUBLE(o)) {
    t.guard(GuardKind::Nan, s);
  } else if (PyCode_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented) {
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

std::span<PyObject* const> items_of(PyObject* sequence) {
  return {PySequence_Fast_ITEMS(sequence), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence))};
}

// Wrapping what a container holds may have Python collect garbage, whose callbacks change the container.
std::vector<std::pair<PyRef, PyRef>> held_items(PyObject* dict) {
  std::vector<std::pair<PyRef, PyRef>> items;
  PyObject *k, *v;
  for (Py_ssize_t pos = 0; PyDict_Next(dict, &pos, &k, &v);) items.emplace_back(PyRef::borrow(k), PyRef::borrow(v));
  return items;
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

ValueRef wrap_sequence(Tracer& t, PyObject* o, SourceRef s) {
  if (!t.config.trace_more && std::ranges::find(items_of(o), o) != items_of(o).end()) listed_break<GB0197>();
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  t.guard(GuardKind::LengthCheck, s, {}, PyObject_Length(o));
  if (PyList_Check(o)) return make_ref<ListValue>(lazy_items(t, o, s));
  return make_ref<TupleValue>(lazy_items(t, o, s), Py_TYPE(o));
}

bool plain_key(PyObject* k) {
  return is_constant_object(k) || Py_TYPE(k)->tp_hash == PyBaseObject_Type.tp_hash || PyType_Check(k) ||
         PyFunction_Check(k);
}

ValueRef wrap_dict(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  return wrap_dict_items(t, o, s);
}

}  // namespace

ValueRef wrap_dict_items(Tracer& t, PyObject* o, SourceRef s) {
  auto d = make_ref<DictValue>(Py_TYPE(o));
  for (const auto& [held_key, value] : held_items(o)) {
    PyObject* const k = held_key.get();
    PyRef constant_key = PyTuple_CheckExact(k) || is_size_type(Py_TYPE(k)) ? from_folded(t, k)->as_constant() : PyRef();
    if (!plain_key(k) && !constant_key) unmodelled(s->name, "dictionary key whose hash runs user code");
    checked(PyDict_SetItem(d->index.get(), k, checked(PyLong_FromSize_t(d->entries.size())).get()));
    ValueRef key = constant_key ? from_folded(t, k) : t.from_object(k, nullptr);
    d->entries.push_back({key, t.lazy(value.get(), t.recorder.sources.child(s, SourceKind::DictItem, k))});
  }
  return d;
}

namespace {

// The factory is read where the C struct has it.
ValueRef wrap_defaultdict(Tracer& t, PyObject* o, SourceRef s) {
  PyRef name = checked(PyUnicode_InternFromString("default_factory"));
  const Attr factory = find_attr(o, name.get());
  if (factory.where != AttrWhere::Slot || !factory.value) return {};
  ValueRef v = wrap_dict(t, o, s);
  ValueRef made = t.wrap(factory.value.get(), t.recorder.sources.child(s, SourceKind::Attr, name.get()));
  if (!is_true_constant(made, Py_None)) static_cast<DictValue&>(*v).default_factory = made;
  return v;
}

bool is_defaultdict(PyTypeObject* type) {
  return std::string_view(type->tp_name) == "collections.defaultdict" && is_c_type(type);
}

// One that never changes and holds classes beside constants is guarded as a whole.
ValueRef wrap_frozen_classes(Tracer& t, PyObject* o, SourceRef s) {
  auto set = make_ref<SetValue>(true);
  bool classes = false;
  PyRef it = checked(PyObject_GetIter(o));
  while (PyRef x = PyRef::steal(PyIter_Next(it.get()))) {
    const bool is_class = PyType_Check(x.get()) && Py_TYPE(x.get())->tp_hash == PyType_Type.tp_hash;
    if (!is_class && !is_constant_object(x.get())) return {};
    classes = classes || is_class;
    set->add(t, t.from_object(x.get(), nullptr));
  }
  if (!classes) return {};
  set->members = checked(PySet_New(o));
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  return set;
}

// Every call compares all members with those of each entry.
constexpr Py_ssize_t kLargestSet = 1000;

ValueRef wrap_set(Tracer& t, PyObject* o, SourceRef s) {
  if (PyFrozenSet_CheckExact(o))
    if (ValueRef v = wrap_frozen_classes(t, o, s)) return v;
  if (PySet_GET_SIZE(o) > kLargestSet) unmodelled(s->name, "set of more than " + std::to_string(kLargestSet));
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  auto set = make_ref<SetValue>(PyFrozenSet_Check(o) != 0);
  PyRef it = checked(PyObject_GetIter(o));
  while (PyRef x = PyRef::steal(PyIter_Next(it.get()))) {
    if (!is_constant_object(x.get()))  // a tuple would be made anew
      unmodelled(s->name, "set whose members are not constants");
    set->add(t, from_folded(t, x.get()));
  }
  set->members = checked(PySet_New(o));
  t.guard(GuardKind::SetMatch, s, checked(PyFrozenSet_New(o)));
  return set;
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

ValueRef wrap_partial(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  auto part = [&](PartialPart which, SourceKind kind) {
    return t.wrap(partial_field(o, which), t.recorder.sources.child(s, kind));
  };
  CallArgs args;
  args.positional = collect(t, part(PartialPart::Args, SourceKind::PartialArgs));
  PyObject *k, *v;
  for (Py_ssize_t pos = 0; PyDict_Next(partial_field(o, PartialPart::Keywords), &pos, &k, &v);)
    if (!PyUnicode_CheckExact(k)) graph_break<GB0186>(repr_of(k));
  auto keywords = part(PartialPart::Keywords, SourceKind::PartialKeywords);
  auto* dict = as<DictValue>(keywords);
  dict->observe_keys(t);
  for (auto& e : dict->live()) args.keywords.emplace_back(e.key->as_constant(), e.value);
  return make_ref<PartialValue>(part(PartialPart::Func, SourceKind::PartialFunc), std::move(args));
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
    return mark && mark != Py_False && mark != Py_None;
  };
  // Nobody shards parameters here: the marks are attributes like others, and the registry lists them.
  if (!t.config.trace_more && marked("_is_fsdp_managed_module") && !marked("_fsdp_use_orig_params"))
    listed_break<GB0053>();
}

ValueRef wrap_other(Tracer& t, PyObject* o, SourceRef s) {
  PyTypeObject* type = Py_TYPE(o);
  if (ValueRef v = wrap_library(t, o, s)) return v;
  if (ValueRef v = wrap_with_data(t, o, s)) return v;
  if (is_user_instance(type) && (has_normal_getattribute(type) || has_getattr_hook(type))) {
    const bool enumeration = is_enumeration(type);
    t.guard(enumeration ? GuardKind::IdMatch : GuardKind::TypeMatch, s,
            enumeration ? PyRef::borrow(o) : type_object(o));
    if (!t.config.allow_rnn && is_library_class(type, LibraryClass::RecurrentModule))
      graph_break<GB0014>(type_name(type) + " at " + s->name);
    s->is_module = is_library_class(type, LibraryClass::Module);
    if (s->is_module) break_on_odd_module(t, o);
    return make_ref<ObjectValue>(type);
  }
  t.guard(GuardKind::TypeMatch, s, type_object(o));
  return make_ref<OpaqueValue>(PyRef::borrow(o));
}

bool is_deepcopy(PyObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  PyObject* module = find_item(PyFunction_GET_GLOBALS(function), "__name__");
  return text_of(code->co_name) == "deepcopy" && module && text_of(module) == "copy";
}

bool is_method_of_instance(PyObject* o) {
  PyObject* self = PyCFunction_CheckExact(o) ? PyCFunction_GET_SELF(o) : nullptr;
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

ValueRef wrap_by_type(Tracer& t, PyObject* o, SourceRef s) {
  PyTypeObject* type = Py_TYPE(o);
  if (ValueRef hatch = wrap_hatch(t, o, s)) return hatch;
  if (type == &PyList_Type || type == &PyTuple_Type || is_size_type(type)) return wrap_sequence(t, o, s);
  if (PyTuple_Check(o) && own_attribute(type, "_fields") && is_usual_namedtuple(t, type)) return wrap_sequence(t, o, s);
  if (type == deque_type()) return wrap_deque(t, o, s);
  if (type == &PyDict_Type) return wrap_dict(t, o, s);
  if (is_defaultdict(type))
    if (ValueRef v = wrap_defaultdict(t, o, s)) return v;
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return wrap_set(t, o, s);
  if (type == &PySlice_Type) return wrap_slice(t, o, s);
  if (type == &PyRange_Type) return wrap_range(t, o, s);
  if (PyCell_Check(o)) {
    // Where a function keeps its cells there is nothing else.
    if (s->kind != SourceKind::FreeCell && s->kind != SourceKind::FuncClosure)
      t.guard(GuardKind::TypeMatch, s, type_object(o));
    return make_ref<CellValue>();
  }
  const bool traced = t.config.trace_more && PyFunction_Check(o) && is_deepcopy(o);
  if ((find_builtin_rule(o) && !traced) || is_numpy_constant(o) || library_row(o)) {
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return make_ref<BuiltinValue>(PyRef::borrow(o));
  }
  if (type == &PyFunction_Type) return wrap_function(t, o, s);
  if (is_compiled_function(o)) {  // inlined: the inner backend and options play no part
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return wrap_function(t, compiled_function_traced(o),
                         t.recorder.sources.constant(compiled_function_traced(o), s->name));
  }
  if (type == &PyMethod_Type) return wrap_method(t, o, s);
  if (type == partial_type()) return wrap_partial(t, o, s);
  if (is_op_function(o)) {
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return make_ref<OpFunctionValue>(PyRef::borrow(o));
  }
  if (PyModule_Check(o) && has_normal_getattribute(type)) {
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return make_ref<ModuleValue>(PyRef::borrow(o));
  }
  if (PyType_Check(o)) {
    // Its mro() is running, or its bases are being set.
    if (!reinterpret_cast<PyTypeObject*>(o)->tp_mro)
      unmodelled(s->name, "class that has no method resolution order yet");
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return make_ref<ClassValue>(PyRef::borrow(o));
  }
  if (t.config.trace_more && is_method_of_instance(o))
    if (ValueRef v = wrap_bound_method(t, o, s)) return v;
  if (type == &PyCFunction_Type || type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyClassMethodDescr_Type || is_call_cache(o)) {
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
    return make_ref<BuiltinValue>(PyRef::borrow(o));
  }
  return wrap_other(t, o, s);
}

}  // namespace

static std::string constant_name(PyObject* o) {
  if (PyType_Check(o)) return "___class_" + type_name(reinterpret_cast<PyTypeObject*>(o));
  return "___constant_" + type_name(Py_TYPE(o));
}

ValueRef Tracer::wrap(PyObject* object, SourceRef source) {
  if (recorder.varying && source && recorder.varying->contains(source->name))
    unmodelled(source->name, "object that is another one in most calls");
  if (PyLong_CheckExact(object) && source)
    if (ValueRef v = dynamic_int(*this, object, source)) return v;
  if (PyUnicode_CheckExact(object) && !ready_text(object)) throw PythonError{};
  if (is_constant_object(object)) return source ? wrap_constant(*this, object, source) : constant(object);
  if (ValueRef made = prototypes.value_of(object)) return made;
  if (!source) source = recorder.sources.constant(object, constant_name(object));
  if (auto it = objects.known.find(object); it != objects.known.end()) {
    ValueRef v = it->second;
    const bool has_identity = v->kind != ValueKind::Builtin && v->kind != ValueKind::OpFunction &&
                              v->kind != ValueKind::Module && v->kind != ValueKind::Class;
    if (v->source && v->source != source && (has_identity || source->kind != SourceKind::Constant)) {
      if (has_identity && source->kind != SourceKind::Constant && v->source->kind != SourceKind::Constant) {
        Guard g{GuardKind::Aliasing, source};
        g.other = v->source;
        g.where = user_frame();
        recorder.guards.add(std::move(g));
      } else {
        guard(GuardKind::IdMatch, source, PyRef::borrow(object));
      }
    }
    return v;
  }
  ValueRef v;
  if (is_tensor_exact(object) || is_parameter(object)) {
    v = input_tensor(object, source);
  } else if (config.trace_numpy && (is_plain_array(object) || is_numpy_scalar(object))) {
    v = input_array(*this, object, source);
  } else if (is_tensor(object)) {
    unmodelled(std::string("TensorWithTFOverrideVariable(") + type_name(Py_TYPE(object)) + ")", "tensor subclass");
  } else {
    v = wrap_by_type(*this, object, source);
    v->source = source;
    v->real = PyRef::borrow(object);
  }
  objects.known[object] = v;
  objects.keep_alive.push_back(PyRef::borrow(object));
  return v;
}

}  // namespace md
