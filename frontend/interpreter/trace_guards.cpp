// What a trace assumed of classes and of the identity of objects.
#include <algorithm>
#include <cmath>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/internals.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/guards/state.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/class_stores.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {
namespace {

using Expect = ClassFact::Lookup::Expect;

// The class and all its bases are beyond Python's reach.
bool is_immutable(PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

PyRef lookup_item(Expect expect, PyObject* name, PyTypeObject* cls, PyObject* object = nullptr) {
  const auto or_none = [](void* o) { return o ? static_cast<PyObject*>(o) : Py_None; };
  return checked(Py_BuildValue("(iOOO)", static_cast<int>(expect), or_none(name), or_none(cls), or_none(object)));
}

// Small ints, and by identity: no user's __eq__ runs.
bool same_item(PyObject* a, PyObject* b) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    PyObject *x = PyTuple_GET_ITEM(a, i), *y = PyTuple_GET_ITEM(b, i);
    if (x != y && !(PyUnicode_CheckExact(x) && plain_equal(x, y))) return false;
  }
  return true;
}

std::size_t hash_of_item(PyObject* item) {
  std::size_t h = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(item); ++i) {
    PyObject* const x = PyTuple_GET_ITEM(item, i);
    h = h * 1000003u + (PyUnicode_CheckExact(x) ? static_cast<std::size_t>(PyObject_Hash(x)) : std::hash<void*>()(x));
  }
  return h;
}

void note_class_lookup(GuardRecorder& recorder, PyTypeObject* type, PyRef item) {
  auto* object = reinterpret_cast<PyObject*>(type);
  const auto [place, fresh] = recorder.class_places.try_emplace(object, recorder.class_notes.size());
  if (fresh) recorder.class_notes.push_back({PyRef::borrow(object), checked(PyList_New(0)), {}});
  GuardRecorder::GuardRecorder::ClassNotes& notes = recorder.class_notes[place->second];
  const std::size_t hash = hash_of_item(item.get());
  for (auto [at, end] = notes.known.equal_range(hash); at != end; ++at)
    if (same_item(at->second, item.get())) return;
  checked(PyList_Append(notes.items.get(), item.get()));
  notes.known.emplace(hash, item.get());
}

}  // namespace

// --- classes ---------------------------------------------------------------------------------------------------------

SourceRef Tracer::class_source(PyTypeObject* type) { return wrap(reinterpret_cast<PyObject*>(type), nullptr)->source; }

void Tracer::note_class(PyTypeObject* type, PyRef item) { note_class_lookup(recorder, type, std::move(item)); }

void expect_none_nearer(Tracer& t, PyTypeObject* type, PyObject* name, PyTypeObject* than) {
  if (type != than && !is_immutable(type))
    note_class_lookup(t.recorder, type, lookup_item(Expect::NoneNearer, name, than));
}

// A prototype is nothing that can change, but its bases are.
void Tracer::expect_on_bases(PyTypeObject* prototype, PyObject* name, PyTypeObject* after) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(prototype->tp_mro); ++i) {
    auto* cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(prototype->tp_mro, i));
    if (after) {
      if (cls == after) after = nullptr;
      continue;
    }
    if (!prototypes.has(cls)) expect_on_class(cls, name, type_find(cls, name));
    if (own_attribute(cls, name)) return;
  }
}

void Tracer::expect_on_class(PyTypeObject* type, PyObject* name, PyObject* found, PyTypeObject* after) {
  refuse_stored_on_class(*this, type, name);
  if (prototypes.has(type)) return expect_on_bases(type, name, after);
  if (!is_immutable(type)) note_class(type, lookup_item(found ? Expect::Same : Expect::Absent, name, after, found));
}

void Tracer::expect_precedence(PyTypeObject* type, PyObject* name) {
  if (prototypes.has(type)) return prototypes.each_real_base(type, [&](auto* base) { expect_precedence(base, name); });
  PyObject* const found = type_find(type, name);
  if (!found || (!Py_TYPE(found)->tp_descr_set && is_c_type(Py_TYPE(found)))) {
    if (!is_immutable(type)) note_class(type, lookup_item(Expect::NoSetter, name, nullptr));
    return;
  }
  expect_on_class(type, name, found);
  for (const char* method : {"__set__", "__delete__"}) {
    PyRef key = checked(PyUnicode_InternFromString(method));
    expect_on_class(Py_TYPE(found), key.get(), type_find(Py_TYPE(found), key.get()));
  }
}

void Tracer::expect_subclass(PyTypeObject* type, PyTypeObject* of, bool is) {
  if (prototypes.has(of)) return;  // as the statement says, for ever
  if (prototypes.has(type))
    return prototypes.each_real_base(type,
                                     [&](auto* base) { expect_subclass(base, of, PyType_IsSubtype(base, of) != 0); });
  if (!is_immutable(type)) note_class(type, lookup_item(is ? Expect::Subclass : Expect::NoSubclass, nullptr, of));
}

Tracer::ClassAttribute Tracer::on_class(PyTypeObject* type, PyObject* name, SourceRef instance) {
  refuse_stored_on_class(*this, type, name);
  PyObject* found = type_find(type, name);
  if (prototypes.has(type)) expect_on_bases(type, name);
  if (is_immutable(type) || prototypes.has(type)) return {found, nullptr};
  const bool bound = found && (Py_TYPE(found)->tp_descr_get || Py_TYPE(found)->tp_descr_set) &&
                     !PyFunction_Check(found) && !PyType_Check(found);
  if (!found || bound) {
    expect_on_class(type, name, found);
    return {found, nullptr};
  }
  if (instance) return {found, recorder.sources.child(instance, SourceKind::TypeAttr, name)};
  return {found, recorder.sources.child(class_source(type), SourceKind::ClassAttr, name)};
}

void Tracer::expect_no_registration() {
  PyRef module = checked(import_module("_abc"));
  PyRef token = checked(PyObject_GetAttrString(module.get(), "get_cache_token"));
  guard(GuardKind::AbcToken, recorder.sources.constant(token.get(), "abc.get_cache_token"), {}, abc_token(token.get()));
}

// --- identity --------------------------------------------------------------------------------------------------------

void Tracer::expect_identity(const ValueRef& a, const ValueRef& b) {
  if (!a->real || !b->real || Py_TYPE(a->real.get()) != Py_TYPE(b->real.get())) return;
  // Guarded by identity already.
  for (ValueKind k : {ValueKind::Builtin, ValueKind::OpFunction, ValueKind::Class, ValueKind::Module})
    if (a->kind == k) return;
  const bool same = a->real.get() == b->real.get();
  const bool constants = a->kind == ValueKind::Constant && b->kind == ValueKind::Constant;
  // Guards on constants compare values: different values are different objects, equal ones either way. One guard
  // stands for every NaN.
  const auto is_nan = [](const ValueRef& v) {
    return PyFloat_CheckExact(v->real.get()) && std::isnan(PyFloat_AS_DOUBLE(v->real.get()));
  };
  if (constants && !plain_equal(a->real.get(), b->real.get()) && !(is_nan(a) && is_nan(b))) return;
  if ((!a->source && !b->source) || (same && !constants)) return;
  const auto place = [&](const ValueRef& v) {
    return v->source ? v->source : recorder.sources.constant(v->real.get(), constant_repr(v->real.get()));
  };
  Guard g{same ? GuardKind::Aliasing : GuardKind::Distinct, place(a)};
  if (g.source == place(b)) return;
  if (same) {
    g.other = place(b);
  } else {
    g.others = {place(b)};
  }
  g.where = user_frame();
  recorder.guards.add(std::move(g));
}

namespace {

ValueKind changed_kind(const SideEffect& e) { return e.target ? e.target->kind : ValueKind::Null; }

// What effects on the object are recorded for: an instance of a subclass of list, dict, ... counts as that.
bool may_be_changed(const ValueRef& v, const std::set<ValueKind>& changed) {
  return changed.contains(v->kind) || changed.contains(data_of(v)->kind);
}

// A dictionary whose entries are also the attributes of `v`.
PyObject* attributes_of(const ValueRef& v) {
  if (v->kind == ValueKind::Module) return PyModule_GetDict(v->real.get());
  return v->kind == ValueKind::Object || v->kind == ValueKind::Opaque ? md_instance_dict(v->real.get()) : nullptr;
}

// The frame's globals and those of the functions it inlined: dictionaries that are read without being values.
std::vector<SourceRef> globals_read(SourceTable& sources, bool stored) {
  std::vector<SourceRef> out;
  bool own = stored;
  for (const auto& s : sources.all()) {
    own |= s->kind == SourceKind::Global;
    SourceRef base = s->base;
    if (s->kind != SourceKind::DictItem || base->kind != SourceKind::Constant) continue;
    if (std::ranges::find(out, base) == out.end()) out.push_back(base);
  }
  if (own) out.push_back(sources.global(nullptr));
  return out;
}

}  // namespace

void Tracer::guard_distinct() {
  std::set<ValueKind> changed;
  for (const SideEffect& e : effects.list()) changed.insert(changed_kind(e));
  const bool stored = changed.contains(ValueKind::Null), dict_changed = stored || changed.contains(ValueKind::Dict);
  // Attributes may be reached as a dictionary's entries.
  for (ValueKind k : {ValueKind::Dict, ValueKind::Object, ValueKind::Null})
    if (changed.contains(k)) changed.insert({ValueKind::Dict, ValueKind::Object, ValueKind::Module});
  if (changed.contains(ValueKind::Opaque)) changed.insert(ValueKind::Dict);
  changed.erase(ValueKind::Null);
  if (changed.empty()) return;
  const auto reached_as_dict = [&](PyObject* dict) {
    auto it = dict ? objects.known.find(dict) : objects.known.end();
    return it != objects.known.end() && it->second->kind == ValueKind::Dict;
  };
  std::vector<SourceRef> places;
  std::set<PyObject*> dicts;
  bool has_dict = false;
  for (const PyRef& o : objects.keep_alive) {
    const ValueRef& v = objects.known.at(o.get());
    if (!may_be_changed(v, changed) || !v->source || !v->real || PyFrozenSet_Check(v->real.get())) continue;
    PyObject* dict = attributes_of(v);
    if (reached_as_dict(dict) || (dict && !dicts.insert(dict).second))
      unmodelled(v->print(), "attributes changed by way of their dictionary");
    has_dict |= v->kind == ValueKind::Dict;
    places.push_back(v->source);
  }
  for (SourceRef s : dict_changed&& has_dict ? globals_read(recorder.sources, stored) : std::vector<SourceRef>()) {
    PyObject* dict = s->kind == SourceKind::Global ? args.globals : s->object.get();
    const auto known = objects.known.find(dict);
    if (s->kind == SourceKind::Constant && known != objects.known.end() && known->second->source == s)
      continue;  // a dictionary that a view shows
    if (reached_as_dict(dict)) unmodelled("globals()", "the globals as a dictionary, one of them changed");
    if (dicts.insert(dict).second) places.push_back(s);
  }
  if (places.size() < 2) return;
  Guard g{GuardKind::Distinct, places.front()};
  g.others.assign(places.begin() + 1, places.end());
  recorder.guards.add(std::move(g));
}

void Tracer::add_object_guards() {
  guard_distinct();
  for (const GuardRecorder::ClassNotes& notes : recorder.class_notes) {
    auto* type = reinterpret_cast<PyTypeObject*>(notes.type.get());
    Guard g{GuardKind::ClassLookups, recorder.sources.constant(notes.type.get(), "___class_" + type_name(type))};
    g.object = checked(PyList_AsTuple(notes.items.get()));
    recorder.guards.add(std::move(g));
  }
}

}  // namespace md
