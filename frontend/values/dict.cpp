// DictValue and its views. Methods: frontend/builtins/dict_methods.cpp.
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/guards/containers.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/cycles.h"
#include "frontend/values/dict_attributes.h"
#include "frontend/values/element_walk.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/hashed_keys.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"
#include "frontend/values/objects.h"

namespace md {

DictValue::DictValue(PyTypeObject* type) : Value(kKind), index(checked(PyDict_New())), type(type) {}

// A constant, or an instance of a subclass of str, int, ... that leaves equality to it.
static PyRef plain_key(Tracer& t, const ValueRef& key) {
  auto* o = as<ObjectValue>(key);
  if (!o || !o->payload) return key->as_constant();
  for (const char* name : {"__eq__", "__hash__"})
    if (o->special(t, name)) return {};
  return o->payload->as_constant();
}

// A member of an enumeration, a constant guarded by identity, whose hash and equality are the library's.
static bool is_library_member(Tracer& t, const ValueRef& key) {
  if (!is_member(key)) return false;
  PyTypeObject* type = key->python_type();
  for (const char* name : {"__hash__", "__eq__"}) {
    const PyRef method = checked(PyUnicode_InternFromString(name));
    PyObject* found = type_find(type, method.get());
    t.expect_on_class(type, method.get(), found);
    if (!found) return false;
    if (!PyFunction_Check(found)) continue;
    PyObject* module = find_item(PyFunction_GET_GLOBALS(found), "__name__");
    if (!module || text_of(module) != "enum") return false;
  }
  return true;
}

// In front of the address of a value: no key of the program's is such a pair.
static PyObject* stand_in_mark() {
  return made_once(
      [] { return checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release(); });
}

bool is_stand_in(PyObject* key) {
  if (is_hashed_stand_in(key)) return true;
  if (!PyTuple_CheckExact(key)) return false;
  if (PyTuple_GET_SIZE(key) > 0 && PyTuple_GET_ITEM(key, 0) == stand_in_mark()) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
    if (is_stand_in(PyTuple_GET_ITEM(key, i))) return true;
  return false;
}

// Made in the trace, of a class that compares by identity. Who holds the key holds the value: its address is its own.
static bool is_made_by_identity(Tracer& t, const ValueRef& key) {
  if (key->real || key->source) return false;
  if (key->kind == ValueKind::Tensor || key->kind == ValueKind::Function) return true;
  if (key->kind != ValueKind::Object && key->kind != ValueKind::Exception) return false;
  PyTypeObject* type = key->python_type();
  for (const char* name : {"__hash__", "__eq__"}) {
    const PyRef method = checked(PyUnicode_InternFromString(name));
    PyObject* found = type_find(type, method.get());
    if (found != type_find(&PyBaseObject_Type, method.get())) return false;
    t.expect_on_class(type, method.get(), found);
  }
  return true;
}

ValueRef shown_mapping(const ValueRef& v) {
  auto* view = as<DictViewValue>(v);
  return view && view->which == ViewKind::Proxy ? ValueRef(view->dict) : v;
}

// A method that dataclasses has written for the class, from its fields.
static bool is_from_fields(Tracer& t, PyTypeObject* type, const char* name) {
  const PyRef key = checked(PyUnicode_InternFromString(name));
  PyObject* found = own_attribute(type, name);
  if (!found || !PyFunction_Check(found)) return false;
  if (text_of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(found))->co_filename) != "<string>") return false;
  t.expect_on_class(type, key.get(), found);
  return true;
}

// Of an instance of such a class: equal to those of the same class whose fields are equal. Null: of another class.
static PyRef dataclass_key(Tracer& t, const ValueRef& key) {
  auto* o = as<ObjectValue>(key);
  PyObject* fields = o && !o->payload ? own_attribute(o->type, "__dataclass_fields__") : nullptr;
  if (!fields || !PyDict_CheckExact(fields)) return {};
  if (!is_from_fields(t, o->type, "__eq__") || !is_from_fields(t, o->type, "__hash__")) return {};
  const PyRef parts = checked(PyList_New(0)), all = checked(PyDict_Items(fields));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i) {
    PyObject* name = PyTuple_GET_ITEM(PyList_GET_ITEM(all.get(), i), 0);
    PyObject* field = PyTuple_GET_ITEM(PyList_GET_ITEM(all.get(), i), 1);
    const auto has = [&](const char* what, PyObject* value) {
      return checked(PyObject_GetAttrString(field, what)).get() == value;
    };
    if (!has("hash", Py_None)) return {};  // what is hashed may differ from what is compared
    const PyRef kind = checked(PyObject_GetAttrString(field, "_field_type"));
    if (repr_of(kind.get()) != "_FIELD" || !has("compare", Py_True)) continue;
    checked(PyList_Append(parts.get(), key_object(t, o->get_attr(t, name)).get()));
  }
  const PyRef items = checked(PyList_AsTuple(parts.get()));
  return checked(PyTuple_Pack(3, stand_in_mark(), o->type_ref.get(), items.get()));
}

// It stands for keys whose comparison is the program's, and so may a part of it.
static bool is_compared_by_program(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return !is_plain(key);
  if (PyTuple_GET_SIZE(key) == 3 && PyTuple_GET_ITEM(key, 0) == stand_in_mark()) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
    if (is_compared_by_program(PyTuple_GET_ITEM(key, i))) return true;
  return false;
}

// Of a frozenset of objects that compare by identity. Null: another key, or with members the program compares.
static PyRef key_of_members(Tracer& t, const ValueRef& key) {
  auto* set = as<SetValue>(key);
  if (!set || !set->frozen) return {};
  const PyRef list = checked(PyList_New(0));
  for (const ValueRef& member : set->items(t)) {
    const PyRef object = key_object(t, member);
    if (is_stand_in(object.get())) return {};  // its hash, and so the order of sets of such keys, only a run knows
    checked(PyList_Append(list.get(), object.get()));
  }
  PyRef members = checked(PyFrozenSet_New(list.get()));
  return is_compared_by_program(checked(PyList_AsTuple(list.get())).get()) ? PyRef() : members;
}

void raise_key_error(Tracer& t, const ValueRef& key) {
  const PyRef k = key_object(t, key);
  if (is_stand_in(k.get()))
    throw TracedRaise{
        make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_KeyError), std::vector<ValueRef>{key})};
  PyErr_SetObject(PyExc_KeyError, k.get());
  t.raise_current();
}

PyRef key_object(Tracer& t, const ValueRef& raw) {
  ValueRef key = t.realize(raw);
  if (PyRef c = plain_key(t, key)) {
    if (PyObject_Hash(c.get()) == -1) t.raise_current();
    return c;
  }
  if (key->kind == ValueKind::List || key->kind == ValueKind::Deque || key->kind == ValueKind::Dict ||
      (key->kind == ValueKind::Set && !static_cast<SetValue*>(key.get())->frozen))
    t.raise(PyExc_TypeError, std::string("unhashable type: '") + key->python_type()->tp_name + "'");
  // Objects hashed by identity: the real object is the key itself.
  if (key->real && hashes_by_identity(Py_TYPE(key->real.get()))) {
    if (key->source) t.guard(GuardKind::IdMatch, key->source, key->real);
    return key->real;
  }
  if (is_library_member(t, key)) return key->real;
  if (is_made_by_identity(t, key)) {
    const PyRef address = checked(PyLong_FromVoidPtr(key.get()));
    return checked(PyTuple_Pack(2, stand_in_mark(), address.get()));
  }
  if (PyRef of_fields = dataclass_key(t, key)) return of_fields;
  if (auto* tuple = as<TupleValue>(key)) {  // hashed and compared item by item
    PyRef items = checked(PyTuple_New(static_cast<Py_ssize_t>(tuple->items.size())));
    for (std::size_t i = 0; i < tuple->items.size(); ++i)
      PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), key_object(t, tuple->items[i]).release());
    return items;
  }
  if (PyRef members = key_of_members(t, key)) return members;
  if (key->kind == ValueKind::Object) return hashed_key(t, key);
  if (PyRef k = weak_reference_key(t, key)) return k;
  if (key->kind == ValueKind::Opaque && is_c_type(key->python_type()))  // its hash is C code's
    unmodelled_method(*key, "__hash__");
  unmodelled(key->print(), "dictionary or set key");
}

std::string DictValue::print() const {
  if (default_factory) return "DefaultDictVariable()";
  return "ConstDictVariable()";
}

PyRef DictValue::as_constant() const {
  if (type != &PyDict_Type) return {};
  if (source && real && !keys_observed) return {};  // another call may bring other keys
  const ElementWalk walk(this);
  if (walk.ends()) return {};
  PyRef out = checked(PyDict_New());
  for (auto& e : live()) {
    PyRef k = e.key->as_constant();
    ValueRef v = e.value;
    if (auto* lazy = as<LazyValue>(v); lazy && lazy->realized) v = lazy->realized;
    PyRef c = v->as_constant();
    if (!k || !c) return {};
    checked(PyDict_SetItem(out.get(), k.get(), c.get()));
  }
  return out;
}

std::vector<DictValue::Entry> DictValue::live() const {
  std::vector<Entry> out;
  for (auto& e : entries)
    if (e.value) out.push_back(e);
  return out;
}

// The key of a real dictionary is looked up in every call to come.
static void expect_key(Tracer& t, DictValue& dict, const PyRef& key) {
  if (is_compared_by_program(key.get())) return dict.observe_keys(t);
  const bool was_there = checked(PyDict_Contains(dict.real.get(), key.get()));
  t.guard(was_there ? GuardKind::DictContains : GuardKind::DictNotContains, dict.source, key);
}

ValueRef DictValue::find(Tracer& t, const ValueRef& key) {
  PyRef k = key_object(t, key);
  PyObject* at = PyDict_GetItemWithError(index.get(), k.get());
  if (!at && PyErr_Occurred()) throw PythonError{};
  if (source && !keys_observed && real) expect_key(t, *this, k);
  return at ? entries[PyLong_AsSize_t(at)].value : ValueRef();
}

void DictValue::put(Tracer& t, const ValueRef& key, ValueRef v) {
  PyRef k = key_object(t, key);
  PyObject* at = PyDict_GetItemWithError(index.get(), k.get());
  if (!at && PyErr_Occurred()) throw PythonError{};
  if (at) {
    ValueRef& entry = entries[PyLong_AsSize_t(at)].value;
    let_go(entry);
    entry = v;
  } else {
    checked(PyDict_SetItem(index.get(), k.get(), checked(PyLong_FromSize_t(entries.size())).get()));
    entries.push_back({t.realize(key), v});
    ++shape;
  }
  note_part_stored(this);
  if (!source) return;
  unseen.push_back(k);
  SideEffect e{EffectKind::DictSet, ValueRef(this)};
  e.key = key, e.value = std::move(v);
  t.effects.record(std::move(e));
}

bool DictValue::remove(Tracer& t, const ValueRef& key) {
  PyRef k = key_object(t, key);
  PyObject* at = PyDict_GetItemWithError(index.get(), k.get());
  if (!at) {
    if (PyErr_Occurred()) throw PythonError{};
    return false;
  }
  let_go(entries[PyLong_AsSize_t(at)].key);
  let_go(entries[PyLong_AsSize_t(at)].value);
  entries[PyLong_AsSize_t(at)].value = ValueRef();
  checked(PyDict_DelItem(index.get(), k.get()));
  ++shape;
  if (!source) return true;
  SideEffect e{EffectKind::DictDelete, ValueRef(this)};
  e.key = key;
  t.effects.record(std::move(e));
  return true;
}

void DictValue::clear(Tracer& t) {
  observe_keys(t);
  for (auto& e : entries) {
    let_go(e.key);
    let_go(e.value);
  }
  entries.clear();
  PyDict_Clear(index.get());
  ++shape;
  if (source) t.effects.record({EffectKind::DictClear, ValueRef(this)});
}

void DictValue::observe_keys(Tracer& t) {
  if (!source || !real || keys_observed) return;
  keys_observed = true;
  const PyRef keys = checked(PyList_New(0));  // keys() of a subclass may be the program's
  DictKeyCursor cursor(real.get());
  while (PyObject* k = cursor.next()) checked(PyList_Append(keys.get(), k));
  t.guard(GuardKind::DictKeyOrder, source, checked(PyList_AsTuple(keys.get())));
}

ValueRef DictValue::get_attr(Tracer& t, PyObject* name) {
  if (type != &PyDict_Type && text_of(name) == "default_factory" && type_find(type, name))
    return default_factory ? default_factory : t.none();
  if (ValueRef v = attribute_of_dict(t, *this, name)) return v;
  return method_attr(t, this, name);
}

ValueRef DictValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}

ValueRef DictValue::get_item(Tracer& t, const ValueRef& key) {
  if (ValueRef v = find(t, key)) return v;
  if (default_factory) {
    ValueRef fresh = t.call(default_factory, {});
    put(t, key, fresh);
    return fresh;
  }
  raise_key_error(t, key);
}

void DictValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  if (v) return put(t, key, std::move(v));
  (void)find(t, key);
  if (!remove(t, key)) raise_key_error(t, key);
}

std::optional<std::int64_t> DictValue::length(Tracer& t) {
  if (source && real && !keys_observed) {
    t.guard(GuardKind::DictLength, source, {}, PyDict_GET_SIZE(real.get()));
    for (auto& k : unseen) expect_key(t, *this, k);
    unseen.clear();
  }
  return PyDict_GET_SIZE(index.get());
}

ValueRef DictValue::iter(Tracer& t) { return make_ref<DictViewValue>(Ref<DictValue>(this), ViewKind::Keys)->iter(t); }
bool DictValue::contains(Tracer& t, const ValueRef& item) { return bool(find(t, item)); }

Reg DictValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  PlanStep make{StepOp::NewDict};
  make.object = PyRef::borrow(reinterpret_cast<PyObject*>(type));
  if (default_factory) make.regs.push_back(b.rebuild(default_factory));
  const Reg r = b.step(std::move(make));
  b.remember(this, r);
  for (auto& e : live())
    b.fill([&b, r, e] {
      PlanStep put{StepOp::DictSet};
      put.a = r, put.regs = {b.rebuild(e.key), b.rebuild(e.value)};
      return put;
    });
  return r;
}

// --- views -----------------------------------------------------------------------------------------------------------

std::string DictViewValue::print() const {
  return which == ViewKind::Proxy    ? "MappingProxyVariable()"
         : which == ViewKind::Keys   ? "DictKeysVariable()"
         : which == ViewKind::Values ? "DictValuesVariable()"
                                     : "DictItemsVariable()";
}

PyTypeObject* DictViewValue::python_type() const {
  if (which == ViewKind::Proxy) return &PyDictProxy_Type;
  if (dict->type == &PyODict_Type)
    return which == ViewKind::Keys     ? &PyODictKeys_Type
           : which == ViewKind::Values ? &PyODictValues_Type
                                       : &PyODictItems_Type;
  return which == ViewKind::Keys     ? &PyDictKeys_Type
         : which == ViewKind::Values ? &PyDictValues_Type
                                     : &PyDictItems_Type;
}

ValueRef DictViewValue::get_attr(Tracer& t, PyObject* name) {
  if (which == ViewKind::Proxy) return method_attr(t, this, name);
  if (text_of(name) == "mapping") return make_ref<DictViewValue>(dict, ViewKind::Proxy);
  return Value::get_attr(t, name);
}

ValueRef DictViewValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  if (which != ViewKind::Proxy) return Value::call_method(t, name, std::move(args));
  static const char* const reads[] = {"get",          "keys",    "values",   "items",       "copy",
                                      "__contains__", "__len__", "__iter__", "__getitem__", "__reversed__"};
  for (const char* read : reads)
    if (text_of(name) == read) return dict->call_method(t, name, std::move(args));
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}

ValueRef DictViewValue::get_item(Tracer& t, const ValueRef& key) {
  return which == ViewKind::Proxy ? dict->get_item(t, key) : Value::get_item(t, key);
}

void DictViewValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  if (which != ViewKind::Proxy) return Value::set_item(t, key, std::move(v));
  t.raise(PyExc_TypeError, v ? "'mappingproxy' object does not support item assignment"
                             : "'mappingproxy' object doesn't support item deletion");
}

ValueRef DictViewValue::iter(Tracer& t) {
  dict->observe_keys(t);
  std::vector<ValueRef> keys;
  for (auto& e : dict->live()) keys.push_back(e.key);
  auto it = make_ref<SequenceIterator>(std::move(keys), ValueRef(this));
  it->size = PyDict_GET_SIZE(dict->index.get());
  it->shape = dict->shape;
  return it;
}

ValueRef DictViewValue::item(Tracer& t, const ValueRef& key) {
  if (which == ViewKind::Keys || which == ViewKind::Proxy) return key;
  ValueRef value = dict->find(t, key);
  if (which == ViewKind::Values) return value;
  return make_ref<TupleValue>(std::vector<ValueRef>{key, std::move(value)});
}

bool DictViewValue::contains(Tracer& t, const ValueRef& item) {
  if (which == ViewKind::Keys || which == ViewKind::Proxy) return dict->contains(t, item);
  if (which == ViewKind::Items) {
    ValueRef v = t.realize(item);
    auto* pair = as<TupleValue>(v);
    if (!pair || pair->items.size() != 2) return false;
    ValueRef found = dict->find(t, pair->items[0]);
    return found && values_equal(t, found, pair->items[1]);
  }
  for (auto& x : collect(t, ValueRef(this)))
    if (values_equal(t, x, item)) return true;
  return false;
}

// The keys or items as a real view of key objects; null if some value is no constant.
PyRef DictViewValue::real_view(Tracer& t) {
  dict->observe_keys(t);
  if (which == ViewKind::Keys) return checked(PyObject_CallMethod(dict->index.get(), "keys", nullptr));
  PyRef out = checked(PyDict_New());
  for (auto& e : dict->live()) {
    PyRef c = t.realize(e.value)->as_constant();
    if (!c) return {};
    checked(PyDict_SetItem(out.get(), key_object(t, e.key).get(), c.get()));
  }
  return checked(PyObject_CallMethod(out.get(), "items", nullptr));
}

Reg DictViewValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (which == ViewKind::Proxy) {
    PlanStep show{StepOp::Call};
    show.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(&PyDictProxy_Type)));
    show.regs = {b.rebuild(dict)};
    return b.step(std::move(show));
  }
  static const char* const names[] = {"keys", "values", "items"};
  PlanStep get{StepOp::GetAttr};
  get.a = b.rebuild(dict);
  get.object = checked(PyUnicode_FromString(names[static_cast<int>(which)]));
  PlanStep call{StepOp::Call};
  call.a = b.step(std::move(get));
  return b.step(std::move(call));
}

}  // namespace md
