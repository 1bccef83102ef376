// Dictionaries and sets from outside become values: by what their keys are, these are looked for or found by place.
#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/interpreter/wrap.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {
namespace {

bool plain_key(PyObject* k) {
  return is_constant_object(k) || hashes_by_identity(Py_TYPE(k)) || PyType_Check(k) || PyFunction_Check(k) ||
         (!PyTuple_Check(k) && is_plain(k));
}

// Of constants and classes down to the last item. Nothing is wrapped here: what is found by its place has no other.
bool is_fixed_tuple(PyObject* k) {
  if (!PyTuple_CheckExact(k) && !is_size_type(Py_TYPE(k))) return is_constant_object(k) || PyType_Check(k);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(k); ++i)
    if (!is_fixed_tuple(PyTuple_GET_ITEM(k, i))) return false;
  return true;
}

}  // namespace

std::vector<std::pair<PyRef, PyRef>> held_items(PyObject* dict) {
  std::vector<std::pair<PyRef, PyRef>> items;
  if (!PyODict_Check(dict)) {
    Py_ssize_t at = 0;
    PyObject *k, *v;
    while (PyDict_Next(dict, &at, &k, &v)) items.emplace_back(PyRef::borrow(k), PyRef::borrow(v));
    return items;
  }
  DictKeyCursor keys(dict);
  while (PyObject* k = keys.next()) {
    const bool is_found = plain_key(k) || PyTuple_Check(k);
    items.emplace_back(PyRef::borrow(k),
                       PyRef::borrow(is_found ? PyDict_GetItemWithError(dict, k) : value_of_key(dict, k)));
  }
  return items;
}

namespace {

// Every call compares all members with those of each entry.
constexpr Py_ssize_t kLargestSet = 1000;

// Looking for such a key would run code of the program: keys and values are found by their place.
Ref<DictValue> wrap_hashed_items(Tracer& t, PyObject* o, SourceRef s) {
  if (PyDict_GET_SIZE(o) > kLargestSet) unmodelled(s->name, "more than " + std::to_string(kLargestSet) + " such keys");
  auto d = make_ref<DictValue>(Py_TYPE(o));
  d->keys_observed = true;
  t.guard(GuardKind::DictLength, s, {}, PyDict_GET_SIZE(o));
  int place = 0;
  for (const auto& [held_key, value] : held_items(o)) {
    const ValueRef key = t.wrap(held_key.get(), t.recorder.sources.child(s, SourceKind::DictKey, nullptr, place));
    checked(PyDict_SetItem(d->index.get(), key_object(t, key).get(), checked(PyLong_FromLong(place)).get()));
    SourceRef at = t.recorder.sources.child(s, SourceKind::DictKey, interned("value").get(), place++);
    d->entries.push_back({key, t.lazy(value.get(), at)});
  }
  return d;
}

}  // namespace

ValueRef wrap_dict_items(Tracer& t, PyObject* o, SourceRef s) {
  const auto is_hashed = [](const auto& item) {
    return !plain_key(item.first.get()) && !is_fixed_tuple(item.first.get());
  };
  if (std::ranges::any_of(held_items(o), is_hashed)) return wrap_hashed_items(t, o, s);
  auto d = make_ref<DictValue>(Py_TYPE(o));
  for (const auto& [held_key, value] : held_items(o)) {
    PyObject* const k = held_key.get();
    PyRef constant_key = PyTuple_CheckExact(k) || is_size_type(Py_TYPE(k)) ? from_folded(t, k)->as_constant() : PyRef();
    checked(PyDict_SetItem(d->index.get(), k, checked(PyLong_FromSize_t(d->entries.size())).get()));
    ValueRef key = constant_key ? from_folded(t, k) : t.from_object(k, nullptr);
    d->entries.push_back({key, t.lazy(value.get(), t.recorder.sources.child(s, SourceKind::DictItem, k))});
  }
  return d;
}

namespace {

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

void put_member(SetValue& set, PyObject* member, ValueRef v) {
  checked(PyDict_SetItem(set.values.get(), member, checked(PyLong_FromSize_t(set.held.size())).get()));
  set.held.push_back(std::move(v));
}

}  // namespace

ValueRef wrap_set(Tracer& t, PyObject* o, SourceRef s) {
  if (PyFrozenSet_CheckExact(o))
    if (ValueRef v = wrap_frozen_classes(t, o, s)) return v;
  if (PySet_GET_SIZE(o) > kLargestSet) unmodelled(s->name, "set of more than " + std::to_string(kLargestSet));
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  auto set = make_ref<SetValue>(PyFrozenSet_Check(o) != 0);
  // Wrapping may have Python collect garbage, whose callbacks change the set.
  const PyRef all = checked(PySequence_Tuple(o));
  set->members = checked(PySet_New(o));
  bool by_content = true, hashed = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* const x = PyTuple_GET_ITEM(all.get(), i);
    if (PyTuple_CheckExact(x) ? bool(from_folded(t, x)->as_constant()) : is_constant_object(x)) {
      put_member(*set, x, from_folded(t, x));
      continue;
    }
    if (PyTuple_Check(x) || !is_plain(x)) {
      hashed = true;
      const ValueRef v = t.realize(t.from_object(x, nullptr));
      put_member(*set, key_object(t, v).get(), v);
      continue;
    }
    // Of objects that may be let go of the guard holds weak references, and these have the order of iteration.
    by_content = by_content && (PyFunction_Check(x) || PyCFunction_Check(x) || PyType_Check(x));
    put_member(*set, x, t.realize(t.from_object(x, nullptr)));
  }
  if (hashed) {
    // The place of a key in a set is not followed: the order is unknown.
    PyRef keys = checked(PyObject_CallMethod(set->values.get(), "keys", nullptr));
    set->members = checked(PySet_New(keys.get()));
    set->changed = true;
    t.guard(GuardKind::SetOrder, s, all);
  } else if (by_content) {
    t.guard(GuardKind::SetMatch, s, checked(PyFrozenSet_New(o)));
  } else {
    t.guard(GuardKind::SetOrder, s, all);
    set->order_observed = true;
  }
  return set;
}

}  // namespace md
