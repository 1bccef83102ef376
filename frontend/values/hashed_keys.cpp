// Keys that compare by code of the program, and weak references: one stand-in for all that are equal.
#include "frontend/values/hashed_keys.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"

namespace md {
namespace {

// Equal to no other stand-in; whether to a constant with its hash, the program's __eq__ says.
struct KeyStandIn {
  PyObject_HEAD
  Py_hash_t hash;
  Tracer* tracer;  // null: its trace is over
  Value* key;      // that of KeyTable
};

Py_hash_t hash_of_stand_in(PyObject* self) { return reinterpret_cast<KeyStandIn*>(self)->hash; }

PyTypeObject* stand_in_type();

// Called by dictionaries of C in the middle of a trace: exceptions of C++ may not pass through them.
PyObject* compare_stand_in(PyObject* self, PyObject* other, int op) {
  const auto& key = *reinterpret_cast<KeyStandIn*>(self);
  const bool tells = (op != Py_EQ && op != Py_NE) || self == other || Py_TYPE(other) == stand_in_type();
  const Py_hash_t hash = tells ? -1 : PyObject_Hash(other);
  if (!tells && hash == -1) return nullptr;
  if (tells || hash != key.hash) Py_RETURN_NOTIMPLEMENTED;
  if (key.tracer && is_constant_object(other)) {
    try {
      Tracer& t = *key.tracer;
      const std::size_t effects = t.effects.list().size();
      const bool equal = t.realize(t.compare(ValueRef(key.key), t.constant(other), Py_EQ))->truth(t);
      if (t.effects.list().size() == effects) return PyBool_FromLong(equal == (op == Py_EQ));
    } catch (const PythonError&) {
      return nullptr;
    } catch (...) {  // it cannot be told
    }
  }
  PyErr_SetString(PyExc_TypeError, "keys of one hash, of which one compares by code of the program");
  return nullptr;
}

PyTypeObject* stand_in_type() {
  return reinterpret_cast<PyTypeObject*>(made_once([] {
    PyType_Slot slots[] = {{Py_tp_hash, reinterpret_cast<void*>(hash_of_stand_in)},
                           {Py_tp_richcompare, reinterpret_cast<void*>(compare_stand_in)},
                           {0, nullptr}};
    PyType_Spec spec{"minidynamo._C.KeyStandIn", sizeof(KeyStandIn), 0, Py_TPFLAGS_DEFAULT, slots};
    return checked(PyType_FromSpec(&spec)).release();
  }));
}

// Of one trace: the first of the keys that are equal.
struct KeyTable final : Value {
  int comparing = 0;  // comparisons of keys under way, each inside the one before
  KeyTable() : Value(ValueKind::Null) {}
  std::string print() const override { return "KeyTable()"; }
  struct Known {
    Py_hash_t hash;
    ValueRef key;
    PyRef stand_in;
    PyRef referred;  // of a weak reference: the key its object would be
  };
  std::vector<Known> known;
  ~KeyTable() override {
    for (const Known& k : known) reinterpret_cast<KeyStandIn*>(k.stand_in.get())->tracer = nullptr;
  }
};

// Kept with the objects the trace has met, under a key that is none of them.
KeyTable& table_of(Tracer& t) {
  ValueRef& held = t.objects.known[reinterpret_cast<PyObject*>(stand_in_type())];
  if (!held) held = make_ref<KeyTable>();
  return static_cast<KeyTable&>(*held);
}

Py_hash_t traced_hash(Tracer& t, const ValueRef& key) {
  const PyRef builtins = checked(import_module("builtins")),
              hash = checked(PyObject_GetAttrString(builtins.get(), "hash"));
  const ValueRef made = t.realize(t.call(make_ref<BuiltinValue>(hash), CallArgs{{key}, {}}));
  const PyRef number = made->as_constant();
  if (!number || !PyLong_Check(number.get())) unmodelled(key->print(), "dictionary or set key whose hash is computed");
  // As type's own slot takes what __hash__ gives: an int that fits as it is.
  Py_hash_t h = PyLong_AsSsize_t(number.get());
  if (h == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    h = PyObject_Hash(number.get());
  }
  return h == -1 ? -2 : h;
}

// What the key itself and the one it is compared with have had stored to them.
std::vector<const Value*> stored_parts(const ValueRef& v) {
  std::vector<const Value*> out;
  if (auto* o = as<ObjectValue>(v))
    for (auto& s : o->attrs) out.push_back(s.value.get());
  return out;
}

PyRef new_stand_in(Py_hash_t hash) {
  PyRef out = checked(PyType_GenericAlloc(stand_in_type(), 0));
  reinterpret_cast<KeyStandIn*>(out.get())->hash = hash;
  return out;
}

// What a weak reference refers to, made in the trace or there before; null: of something else.
ValueRef referred_object(Tracer& t, const ValueRef& v) {
  if (auto* made = as<PolyfilledValue>(v); made && made->type == &_PyWeakref_RefType)
    for (auto& [name, part] : made->parts)
      if (text_of(name.get()) == "obj") return t.realize(part);
  if (!v->real || !v->source || !PyWeakref_CheckRef(v->real.get())) return {};
  const PyRef object = referent(v->real.get());
  if (!object) unmodelled(v->print(), "a key that refers to nothing any more");
  const PyRef field = checked(PyUnicode_InternFromString("__referent__"));
  return t.wrap(object.get(), t.recorder.sources.child(v->source, SourceKind::Field, field.get()));
}

}  // namespace

// Weak references compare as what they refer to.
PyRef weak_reference_key(Tracer& t, const ValueRef& key) {
  const ValueRef object = referred_object(t, key);
  if (!object) return {};
  const PyRef referred = key_object(t, object);
  KeyTable& table = table_of(t);
  for (const KeyTable::Known& k : table.known) {
    const int same = k.referred ? PyObject_RichCompareBool(k.referred.get(), referred.get(), Py_EQ) : 0;
    if (same < 0) throw PythonError{};
    if (same) return k.stand_in;
  }
  const Py_hash_t hash = PyObject_Hash(referred.get());
  if (hash == -1) throw PythonError{};
  PyRef out = new_stand_in(hash);
  table.known.push_back({hash, key, out, referred});
  return out;
}

bool is_hashed_stand_in(PyObject* key) { return Py_TYPE(key) == stand_in_type(); }

constexpr int kMostNested = 10;  // an __eq__ may look into the dictionary whose keys it compares

PyRef hashed_key(Tracer& t, const ValueRef& key) {
  auto& object = static_cast<ObjectValue&>(*key);
  if (auto* tuple = as<TupleValue>(object.payload);
      tuple && !object.special(t, "__hash__") && !object.special(t, "__eq__"))
    return key_object(t, object.payload);
  // Python hashes and compares more or less often, and with other keys.
  const auto refuse = [&] { unmodelled(key->print(), "dictionary or set key whose comparison has effects"); };
  KeyTable& table = table_of(t);
  if (table.comparing >= kMostNested)
    unmodelled(key->print(), "dictionary or set key whose comparison looks for others");
  struct Comparing {
    int& count;
    explicit Comparing(int& count) : count(++count) {}
    ~Comparing() { --count; }
  } const under_way{table.comparing};
  // One that remembers its hash does so the first time, however often it is asked.
  const std::size_t before = t.effects.list().size();
  const auto parts_before = stored_parts(key);
  const Py_hash_t hash = traced_hash(t, key);
  const std::size_t effects = t.effects.list().size();
  const auto parts = stored_parts(key);
  if ((effects != before || parts != parts_before) && traced_hash(t, key) != hash) refuse();
  PyRef out;
  for (std::size_t i = 0; i < table.known.size() && !out; ++i) {
    if (table.known[i].hash != hash || table.known[i].referred) continue;
    const ValueRef other = table.known[i].key;  // __eq__ may use dictionaries as well
    const auto others_parts = stored_parts(other);
    if (same_object(t, other, key) || t.realize(t.compare(other, key, Py_EQ))->truth(t)) out = table.known[i].stand_in;
    if (stored_parts(other) != others_parts) refuse();
  }
  if (t.effects.list().size() != effects || stored_parts(key) != parts) refuse();
  if (out) return out;
  out = new_stand_in(hash);
  reinterpret_cast<KeyStandIn*>(out.get())->tracer = &t;
  reinterpret_cast<KeyStandIn*>(out.get())->key = key.get();
  table.known.push_back({hash, key, out, {}});
  return out;
}

}  // namespace md
