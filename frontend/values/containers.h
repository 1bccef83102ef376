// Lists, tuples (named tuples, Size), dicts, sets, slices, ranges. Those that existed before the trace keep their
// source; changes to them become effects.
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct ListValue final : Value {
  static constexpr ValueKind kKind = ValueKind::List;
  explicit ListValue(std::vector<ValueRef> items) : Value(kKind), items(std::move(items)) {}
  std::string print() const override { return "ListVariable(length=" + std::to_string(items.size()) + ")"; }
  PyTypeObject* python_type() const override { return &PyList_Type; }
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer&) override { return static_cast<std::int64_t>(items.size()); }
  bool truth(Tracer&) override { return !items.empty(); }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  void append(Tracer& t, ValueRef v);
  // After any other change of `items`: from place `first` on, `removed` elements have made room for `inserted`; without
  // these, everything may have changed.
  void changed(Tracer& t);
  void changed(Tracer& t, std::size_t first, std::size_t removed, std::size_t inserted);

  std::vector<ValueRef> items;
};

struct TupleValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Tuple;
  explicit TupleValue(std::vector<ValueRef> items, PyTypeObject* type = &PyTuple_Type)
      : Value(kKind), items(std::move(items)), type(type) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  std::optional<std::int64_t> length(Tracer&) override { return static_cast<std::int64_t>(items.size()); }
  bool truth(Tracer&) override { return !items.empty(); }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef named_item(PyObject* field) const;  // that `field` of a named tuple's class stands for; null: no such thing
  bool is_namedtuple() const { return type != &PyTuple_Type && find_item(type->tp_dict, "_fields"); }
  bool is_exact() const { return type == &PyTuple_Type && !of_instance; }  // may be its own slice, copy or product

  std::vector<ValueRef> items;
  PyTypeObject* type;               // tuple, Size, a named tuple class
  bool of_instance = false;         // the items of an instance of another class below tuple
  std::vector<std::string> fields;  // of an op's named results: values, indices
};

PyTypeObject* plain_or_size(PyTypeObject* type);  // of a slice, sum or repetition of such a tuple

// Keys are constants or objects hashed by identity; a real dict maps them to entries.
struct DictValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Dict;
  explicit DictValue(PyTypeObject* type);
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  bool truth(Tracer& t) override { return *length(t) != 0; }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  struct Entry {
    ValueRef key, value;  // value null: deleted
  };
  ValueRef find(Tracer& t, const ValueRef& key);  // null if absent; guards presence or absence
  void put(Tracer& t, const ValueRef& key, ValueRef v);
  bool remove(Tracer& t, const ValueRef& key);
  void clear(Tracer& t);
  void observe_keys(Tracer& t);  // guards the key sequence of a real dict
  std::vector<Entry> live() const;

  std::vector<Entry> entries;
  PyRef index;  // dict: key object -> position in entries
  PyTypeObject* type;
  ValueRef default_factory;  // defaultdict
  bool keys_observed = false;
  long shape = 0;  // changes when a key comes or goes
  // Written without having been looked for: whether they are new matters to the length.
  std::vector<PyRef> unseen;
};
// A set where `v` is one, of a subclass too: what takes a set looks past __iter__. Else `v`, realized.
ValueRef as_any_set(Tracer& t, const ValueRef& v);
// The set of a frozenset's members where `v` is a constant one. Else `v`.
ValueRef frozen_as_set(Tracer& t, const ValueRef& v);
// The object a key hashes as; breaks on keys whose hash or equality would run user code.
PyRef key_object(Tracer& t, const ValueRef& key);
// Such an object, or one in a tuple, stands for a value hashed by identity whose real object a run will make.
bool is_stand_in(PyObject* key);
// The dictionary behind a mappingproxy, which compares and joins as that does. Anything else itself.
ValueRef shown_mapping(const ValueRef& v);
// A KeyError that names the key.
[[noreturn]] void raise_key_error(Tracer& t, const ValueRef& key);

struct SetValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Set;
  explicit SetValue(bool frozen);
  std::string print() const override { return frozen ? "FrozensetVariable()" : "SetVariable()"; }
  PyTypeObject* python_type() const override { return frozen ? &PyFrozenSet_Type : &PySet_Type; }
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  std::optional<std::int64_t> length(Tracer&) override { return PySet_GET_SIZE(members.get()); }
  bool truth(Tracer&) override { return PySet_GET_SIZE(members.get()) != 0; }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  void add(Tracer& t, const ValueRef& v);
  bool discard(Tracer& t, const ValueRef& v);
  void clear(Tracer& t);
  std::vector<ValueRef> items(Tracer& t);  // in the real set's order
  // The set's own operation `method` on the key objects of both sides: what comes out has eager's order.
  ValueRef combine(Tracer& t, const char* method, const std::vector<ValueRef>& others);
  PyRef table() const { return source && real && !changed ? real : members; }  // that has eager's order
  // update() and the like as the one step they are: what they do to the table decides the order.
  void change_by(Tracer& t, const char* method, const ValueRef& other);  // a set or a dictionary
  void update(Tracer& t, const ValueRef& from);                          // as set.update()
  void observe_order(Tracer& t);                                         // guards the order of a real set
  // An empty set gets this content's order by one update() with it, and not by adding one member after the other.
  bool comes_at_once() const;

  PyRef members;  // a real set of the key objects: same order as eager's
  PyRef values;   // dict: key object -> position in `held`
  std::vector<ValueRef> held;
  bool frozen;
  bool changed = false;  // since the trace began: `members` has the content of the real set, maybe not its order
  bool order_observed = false;
  long shape = 0;  // changes when a member comes or goes
};

struct SliceValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Slice;
  SliceValue(ValueRef start, ValueRef stop, ValueRef step)
      : Value(kKind), start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {}
  std::string print() const override { return "SliceVariable()"; }
  PyTypeObject* python_type() const override { return &PySlice_Type; }
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef start, stop, step;
};

struct RangeValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Range;
  explicit RangeValue(PyRef range) : Value(kKind) { real = std::move(range); }
  std::string print() const override { return "RangeVariable()"; }
  PyTypeObject* python_type() const override { return &PyRange_Type; }
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  bool truth(Tracer& t) override { return *length(t) != 0; }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
};

enum class ViewKind : std::uint8_t { Keys, Values, Items, Proxy };  // Proxy: a mappingproxy, which reads as the dict
struct DictViewValue final : Value {
  static constexpr ValueKind kKind = ValueKind::DictView;
  DictViewValue(Ref<DictValue> dict, ViewKind which) : Value(kKind), dict(std::move(dict)), which(which) {}
  std::string print() const override;
  PyTypeObject* python_type() const override;
  std::optional<std::int64_t> length(Tracer& t) override { return dict->length(t); }
  bool truth(Tracer& t) override { return dict->truth(t); }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
  PyRef real_view(Tracer& t);
  bool is_set_like() const { return which == ViewKind::Keys || which == ViewKind::Items; }
  ValueRef item(Tracer& t, const ValueRef& key);  // what iteration gives for a key
  Ref<DictValue> dict;
  ViewKind which;
};

// What a dict or an instance of a subclass holds, each item looked at when it is used.
ValueRef wrap_dict_items(Tracer& t, PyObject* o, SourceRef s);
// Every element of an iterable, by running its iterator to the end.
std::vector<ValueRef> collect(Tracer& t, const ValueRef& iterable);
// Items selected by a slice of constants.
std::vector<ValueRef> sliced(Tracer& t, const std::vector<ValueRef>& items, SliceValue& s);
// The constants equal rule: identity, then Python's == on constants; breaks where user code would decide.
bool values_equal(Tracer& t, const ValueRef& a, const ValueRef& b);
bool same_object(Tracer& t, const ValueRef& a, const ValueRef& b);

}  // namespace md
