// Reads and writes of obj.__dict__ mapped to attributes of the instance.
#include "frontend/values/attribute_dict.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/plan/hidden_entries.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/cycles.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"
#include "frontend/values/pinned_modules.h"
#include "frontend/values/rules.h"

namespace md {

static PyRef attribute_name(Tracer& t, const ValueRef& raw, const Value& self) {
  PyRef name = t.realize(raw)->as_constant();
  if (!name || !PyUnicode_CheckExact(name.get())) unmodelled(self.print(), "a key of __dict__ that is no str");
  PyObject* text = name.release();
  PyUnicode_InternInPlace(&text);
  return PyRef::steal(text);
}

ObjectValue::Stored* ObjectValue::written(PyObject* name) {
  if (attrs.size() <= kFew) {
    for (auto& s : attrs)
      if (PyUnicode_Compare(s.name.get(), name) == 0) return &s;
    return nullptr;
  }
  if (!places_) places_ = checked(PyDict_New());
  for (auto k = static_cast<std::size_t>(PyDict_GET_SIZE(places_.get())); k < attrs.size(); ++k)
    checked(PyDict_SetItem(places_.get(), attrs[k].name.get(), checked(PyLong_FromSize_t(k)).get()));
  PyObject* const place = PyDict_GetItemWithError(places_.get(), name);
  if (!place && PyErr_Occurred()) throw PythonError{};
  return place ? &attrs[PyLong_AsSize_t(place)] : nullptr;
}

// The instance itself has it: a class attribute cannot be deleted by way of an instance.
bool ObjectValue::has_own(Tracer& t, PyObject* name) {
  if (const Stored* s = stored(name)) return bool(s->value);
  if (!real) return false;
  PyObject* on_type = type_find(type, name);
  const bool slot = on_type && Py_TYPE(on_type) == &PyMemberDescr_Type;
  const Found held = slot ? Found{} : instance_find(real.get(), name);
  if (!slot && held.status == Lookup::Undecidable) unmodelled(print(), "an attribute only user code can find");
  const bool own = slot ? find_attr(real.get(), name).where == AttrWhere::Slot : held.status == Lookup::Found;
  if (!source) return own;
  SourceRef place = t.recorder.sources.child(source, slot ? SourceKind::Attr : SourceKind::InstanceDict, name);
  if (own)
    t.expect_present(place);
  else
    t.guard(GuardKind::NotPresent, place);
  return own;
}

// What a real instance had when the frame was entered, but for what the trace has changed since.
static void put_earlier(Tracer& t, const ObjectValue& o, DictValue& dict) {
  const PyRef held = checked(PyObject_GenericGetDict(o.real.get(), nullptr));
  const PyRef names = checked(PySequence_Tuple(checked(PyDict_Keys(held.get())).get()));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names.get()); ++k)
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names.get(), k)))
      unmodelled(o.print() + ".__dict__", "a key of __dict__ that is no str");
  if (o.source) {
    const SourceRef place = t.recorder.sources.child(o.source, SourceKind::Field, interned("__dict__").get());
    t.guard(GuardKind::DictKeyOrder, place, names);
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names.get()); ++k) {
    PyObject* const name = PyTuple_GET_ITEM(names.get(), k);
    if (const auto* s = o.stored(name)) {
      if (s->value && !s->again) dict.put(t, t.constant(PyRef::borrow(name)), s->value);
      continue;
    }
    PyObject* const value = find_item(held.get(), text_of(name).c_str());
    if (!value) unmodelled(o.print() + ".__dict__", "an attribute that changes while it is looked at");
    SourceRef place = o.source ? t.recorder.sources.child(o.source, SourceKind::InstanceDict, name) : nullptr;
    dict.put(t, t.constant(PyRef::borrow(name)), t.lazy(value, place));
  }
}

Ref<DictValue> AttributeDictValue::contents(Tracer& t) {
  auto dict = make_ref<DictValue>(&PyDict_Type);
  if (object->real) {
    refuse_dict_of_pinned(t, *object, t.none());
    put_earlier(t, *object, *dict);
  }
  for (auto& s : object->attrs) {
    PyObject* on_type = type_find(object->type, s.name.get());
    if (s.value && !(on_type && Py_TYPE(on_type) == &PyMemberDescr_Type)) dict->put(t, t.constant(s.name), s.value);
  }
  dict->owner = this;
  t.objects.data_owners.push_back(ValueRef(this));
  return dict;
}

ValueRef AttributeDictValue::find(Tracer& t, const ValueRef& key) {
  PyRef name = attribute_name(t, key, *this);
  PyObject* on_type = type_find(object->type, name.get());
  if (on_type && Py_TYPE(on_type) == &PyMemberDescr_Type) return {};
  t.expect_on_class(object->type, name.get(), on_type);
  if (const auto* s = object->stored(name.get())) return s->value;
  if (!object->has_own(t, name.get())) return {};
  const Found own = instance_find(object->real.get(), name.get());
  if (own.status != Lookup::Found) unmodelled(object->print() + ".__dict__", "an attribute only user code can find");
  SourceRef place =
      object->source ? t.recorder.sources.child(object->source, SourceKind::InstanceDict, name.get()) : nullptr;
  return t.lazy(own.value, place);
}

[[noreturn]] static void raise_key_error(Tracer& t, PyObject* key) {
  PyErr_SetObject(PyExc_KeyError, key);
  t.raise_current();
}

ValueRef AttributeDictValue::get_item(Tracer& t, const ValueRef& key) {
  if (ValueRef v = find(t, key)) return v;
  raise_key_error(t, attribute_name(t, key, *this).get());
}

// The class has a descriptor of that name, which attribute access asks instead.
static bool is_hidden(PyTypeObject* type, PyObject* name) {
  PyObject* on_type = type_find(type, name);
  return on_type && Py_TYPE(on_type)->tp_descr_set && Py_TYPE(on_type) != &PyMemberDescr_Type;
}

// An entry only the descriptor reads, and `__dict__`.
static void store_hidden(Tracer& t, ObjectValue& o, PyObject* name, ValueRef v) {
  auto* known = const_cast<ObjectValue::Stored*>(o.stored(name));
  if (o.real && !known) let_go_of_object(instance_find(o.real.get(), name).value);
  if (known) {
    known->value = v;
  } else {
    o.attrs.push_back({PyRef::borrow(name), v});
  }
  note_part_stored(&o);
  if (!o.source) return;
  refuse_change_of_pinned(t, o);
  SideEffect e{v ? EffectKind::AttrSet : EffectKind::AttrDelete, ValueRef(&o)};
  e.name = PyRef::borrow(name);
  e.value = std::move(v);
  e.first = kPastDescriptors;
  t.effects.record(std::move(e));
}

// Past the class's __setattr__ and descriptors, which only attribute access asks.
void AttributeDictValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  PyRef name = attribute_name(t, key, *this);
  PyObject* on_type = type_find(object->type, name.get());
  if (on_type && Py_TYPE(on_type) == &PyMemberDescr_Type)
    unmodelled(object->print() + ".__dict__", "an entry that a slot of the class hides");
  if (!v && !find(t, key)) raise_key_error(t, name.get());
  if (is_hidden(object->type, name.get())) return store_hidden(t, *object, name.get(), std::move(v));
  object->plain_store(t, name.get(), std::move(v));
}

bool AttributeDictValue::contains(Tracer& t, const ValueRef& item) {
  refuse_dict_of_pinned(t, *object, t.realize(item));
  return bool(find(t, item));
}

ValueRef AttributeDictValue::get_attr(Tracer& t, PyObject* name) { return method_attr(t, this, name); }

// clear(), or popitem(), which gives the last entry.
static ValueRef take_entries(Tracer& t, AttributeDictValue& attributes, bool last) {
  const auto entries = attributes.contents(t)->live();
  if (last && entries.empty()) {
    PyErr_SetString(PyExc_KeyError, "popitem(): dictionary is empty");
    t.raise_current();
  }
  if (!last) {
    for (const auto& e : entries) attributes.set_item(t, e.key, {});
    return t.none();
  }
  const ValueRef key = entries.back().key, value = t.realize(entries.back().value);
  attributes.set_item(t, key, {});
  return make_ref<TupleValue>(std::vector<ValueRef>{key, value});
}

ValueRef AttributeDictValue::call_method(Tracer& t, PyObject* method, CallArgs args) {
  const std::string n = text_of(method);
  const bool lookup = args.keywords.empty() && (args.size() == 1 || args.size() == 2);
  if (lookup && (n == "get" || n == "setdefault" || n == "pop")) {
    ValueRef v = find(t, args[0]);
    if (!v && n == "pop" && args.size() == 1) raise_key_error(t, attribute_name(t, args[0], *this).get());
    const ValueRef fallback = args.size() == 2 ? args[1] : t.none();
    if (v && n == "pop") set_item(t, args[0], {});
    if (!v && n == "setdefault") set_item(t, args[0], fallback);
    return v ? v : fallback;
  }
  if (n == "update") {
    auto given = make_ref<DictValue>(&PyDict_Type);
    given->call_method(t, method, std::move(args));
    for (auto& e : given->live()) set_item(t, e.key, e.value);
    return t.none();
  }
  const bool clears = n == "clear" && args.size() == 0, takes_last = n == "popitem" && args.size() == 0;
  if (clears || takes_last) return take_entries(t, *this, takes_last);
  if (n == "__delitem__" && args.size() == 1) {
    set_item(t, args[0], {});
    return t.none();
  }
  for (const char* reading : {"keys", "values", "items", "copy", "__or__", "__ror__", "__eq__", "__reversed__"})
    if (n == reading) return contents(t)->call_method(t, method, std::move(args));
  if (n == "__getitem__" && args.size() == 1) return get_item(t, args[0]);
  if (n == "__contains__" && args.size() == 1) return t.boolean(contains(t, args[0]));
  if (n == "__setitem__" && args.size() == 2) {
    set_item(t, args[0], args[1]);
    return t.none();
  }
  unmodelled_method(*this, n, args);
}

Reg AttributeDictValue::rebuild(PlanBuilder& b) {
  PlanStep s{StepOp::GetAttr};
  s.a = b.rebuild(object);
  s.object = checked(PyUnicode_InternFromString("__dict__"));
  return b.step(std::move(s));
}

}  // namespace md
