// Method dispatch of modelled containers, and list methods.
#include "frontend/values/methods.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/known_items.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/let_go.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {

std::vector<std::span<const MethodRow>>& method_families() {
  static auto* all = new std::vector<std::span<const MethodRow>>();
  return *all;
}

}  // namespace

static ValueRef ruled_method(Tracer& t, const MethodRow& row, Value& self, PyObject* name, CallArgs& args) {
  const CallArgs given = args;
  try {
    return row.rule(t, self, args);
  } catch (const WrongArguments&) {
    refuse_method_arguments(t, self, name, given);
  }
}

// Methods of immutable containers of constants run for real.
static ValueRef folded_method(Tracer& t, const Value& self, PyObject* name, CallArgs args) {
  PyTypeObject* type = self.python_type();
  const bool immutable =
      type == &PyTuple_Type || type == &PySlice_Type || type == &PyRange_Type || type == &PyFrozenSet_Type;
  PyRef own = immutable ? self.as_constant() : PyRef();
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!own || !all_known(t, args, positional, kwargs)) return {};
  return make_ref<ConstantValue>(own)->call_method(t, name, args);
}

void add_methods(std::span<const MethodRow> family) { method_families().push_back(family); }

// a.__eq__(b) and its kin of lists, tuples and dicts, which know their own kind. Null: another method.
static ValueRef comparing_method(Tracer& t, const ValueRef& self, const std::string& n, const CallArgs& args) {
  static constexpr const char* names[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  const auto found = std::ranges::find(names, n);
  const bool dict = self->kind == ValueKind::Dict && self->python_type() == &PyDict_Type;
  const bool known = dict || self->kind == ValueKind::List || self->kind == ValueKind::Tuple;
  if (found == std::end(names) || !known || args.size() != 1 || !args.keywords.empty()) return {};
  const int op = static_cast<int>(found - std::begin(names));
  const ValueRef other = data_of(args[0]);
  if (other->kind == ValueKind::Opaque || other->kind == ValueKind::AttributeDict) return {};
  if (other->kind != self->kind || (dict && op != Py_EQ && op != Py_NE)) return t.constant(Py_NotImplemented);
  return t.compare(self, other, op);
}

ValueRef call_builtin_method(Tracer& t, ValueRef self, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  PyTypeObject* type = self->python_type();
  if (n != "append" && n != "appendleft")  // who appends does not look
    for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  if (type && self->kind == ValueKind::Dict && type != &PyDict_Type)
    if (PyObject* row = library_method(type, name)) {
      args.positional.insert(args.positional.begin(), self);
      return call_library(t, type_find(type, name), row, std::move(args));
    }
  for (auto rows : method_families())
    for (const MethodRow& row : rows)
      if (row.kind == self->kind && n == row.name)
        if (ValueRef r = ruled_method(t, row, *self, name, args)) return r;
  if (ValueRef r = comparing_method(t, self, n, args)) return r;
  if (type && !type_find(type, name))
    t.raise(PyExc_AttributeError, std::string("'") + type->tp_name + "' object has no attribute '" + n + "'");
  // What copying asks a container for is listed where the program itself asks for it.
  if (self->kind == ValueKind::Deque && n == "__copy__" && !t.config.trace_more && !is_in_library(t))
    unmodelled_method(*self, n, args);
  if (type)
    if (PyObject* row = library_method(type, name)) {
      args.positional.insert(args.positional.begin(), self);
      return call_library(t, type_find(type, name), row, std::move(args));
    }
  if (n == "__getitem__" && args.size() == 1) return self->get_item(t, args[0]);
  if (n == "__len__" && args.size() == 0) return t.integer(*self->length(t));
  if (n == "__contains__" && args.size() == 1) return t.boolean(self->contains(t, args[0]));
  if (n == "__iter__" && args.size() == 0) return self->iter(t);
  if (n == "__setitem__" && args.size() == 2) {
    self->set_item(t, args[0], args[1]);
    return t.none();
  }
  if (n == "__delitem__" && args.size() == 1) {
    self->set_item(t, args[0], {});
    return t.none();
  }
  if (ValueRef r = folded_method(t, *self, name, args)) return r;
  unmodelled_method(*self, n, args);
}

ValueRef method_attr(Tracer& t, Value* self, PyObject* name) {
  const std::string n = text_of(name);
  PyTypeObject* type = self->python_type();
  if (!type) unmodelled(self->print() + "." + n, "attribute");
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
  const auto [found, place] = t.on_class(type, name);
  if (!found) t.raise(PyExc_AttributeError, std::string("'") + type->tp_name + "' object has no attribute '" + n + "'");
  if (PyFunction_Check(found) || Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyClassMethod_Type ||
      Py_TYPE(found) == &PyStaticMethod_Type)
    return bind_class_attr(t, found, place, ValueRef(self), t.from_object(reinterpret_cast<PyObject*>(type), nullptr));
  if (!Py_TYPE(found)->tp_descr_get) return t.from_object(found, place);
  if (!is_method(found)) unmodelled(self->print() + "." + n, "attribute computed outside the traced program");
  return make_ref<BoundAttrValue>(ValueRef(self), PyRef::borrow(name));
}

bool is_method(PyObject* found) {
  PyTypeObject* type = Py_TYPE(found);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type ||
         PyFunction_Check(found) || PyCFunction_Check(found) || type == &PyStaticMethod_Type ||
         type == &PyClassMethod_Type || std::string_view(type->tp_name) == "cython_function_or_method";
}

// A list or tuple as it is now; the values of anything else one by one, as they come.
void extend_list(Tracer& t, ListValue& list, const ValueRef& raw) {
  ValueRef from = t.realize(raw);
  if (from->kind == ValueKind::List || from->kind == ValueKind::Tuple) {
    for (auto& v : collect(t, from)) list.append(t, v);
    return;
  }
  ValueRef it = t.realize(from->iter(t));
  ask_for_length(t, from);
  while (ValueRef v = it->next(t)) list.append(t, v);
}

namespace {

ListValue& list_of(Value& self) { return static_cast<ListValue&>(self); }

ValueRef list_append(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.append", args, 1, 1);
  list_of(self).append(t, args[0]);
  return t.none();
}

ValueRef list_extend(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.extend", args, 1, 1);
  extend_list(t, list_of(self), args[0]);
  return t.none();
}

ValueRef list_insert(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "insert", args, 2, 2);
  std::int64_t at;
  if (!constant_int(args[0], at)) throw WrongArguments{};
  auto& items = list_of(self).items;
  const auto n = static_cast<std::int64_t>(items.size());
  if (at < 0) at = std::max<std::int64_t>(0, at + n);
  at = std::min(at, n);
  items.insert(items.begin() + at, args[1]);
  list_of(self).changed(t, static_cast<std::size_t>(at), 0, 1);
  return t.none();
}

ValueRef list_pop(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "pop", args, 0, 1);
  auto& items = list_of(self).items;
  std::int64_t at = -1;
  if (args.size() && !constant_int(args[0], at)) throw WrongArguments{};
  const auto n = static_cast<std::int64_t>(items.size());
  if (n == 0) t.raise(PyExc_IndexError, "pop from empty list");
  if (at < 0) at += n;
  if (at < 0 || at >= n) t.raise(PyExc_IndexError, "pop index out of range");
  ValueRef v = items[static_cast<std::size_t>(at)];
  items.erase(items.begin() + at);
  list_of(self).changed(t, static_cast<std::size_t>(at), 1, 0);
  return v;
}

std::size_t find_in(Tracer& t, const std::vector<ValueRef>& items, const ValueRef& x) {
  std::size_t k = 0;
  for (; k < items.size(); ++k)
    if (const ValueRef v = items[k]; values_equal(t, v, x)) break;  // an __eq__ may change the list
  return std::min(k, items.size());
}

ValueRef list_remove(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.remove", args, 1, 1);
  auto& items = list_of(self).items;
  const std::size_t k = find_in(t, items, args[0]);
  if (k >= items.size()) t.raise(PyExc_ValueError, "list.remove(x): x not in list");
  let_go(items[k]);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(k));
  list_of(self).changed(t, k, 1, 0);
  return t.none();
}

ValueRef list_clear(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.clear", args, 0, 0);
  let_go(list_of(self).items);
  list_of(self).items.clear();
  list_of(self).changed(t);
  return t.none();
}

ValueRef list_reverse(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.reverse", args, 0, 0);
  std::reverse(list_of(self).items.begin(), list_of(self).items.end());
  list_of(self).changed(t);
  return t.none();
}

ValueRef list_sort(Tracer& t, Value& self, CallArgs& args) {
  ValueRef key = args.take_keyword("key"), reverse = args.take_keyword("reverse");
  expect_args(t, "sort", args, 0, 0);
  list_of(self).items = sorted_values(t, list_of(self).items, key, reverse_order(t, reverse));
  list_of(self).changed(t);
  return t.none();
}

ValueRef list_copy(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "list.copy", args, 0, 0);
  return make_ref<ListValue>(list_of(self).items);
}

const std::vector<ValueRef>& items_of(Value& self) {
  return self.kind == ValueKind::List ? list_of(self).items : static_cast<TupleValue&>(self).items;
}

// In the words of this Python, the value by its traced repr().
[[noreturn]] void raise_not_in_list(Tracer& t, const ValueRef& value) {
  const PyRef text = t.realize(t.format_value(value, 2, {}))->as_constant(), empty = checked(PyList_New(0));
  if (!text) unmodelled(value->print(), "the text of a value that is not in a list");
  const PyRef mark = checked(PyUnicode_FromString("0"));
  (void)PyRef::steal(PyObject_CallMethod(empty.get(), "index", "i", 0));
  PyObject *kind, *error, *where;
  PyErr_Fetch(&kind, &error, &where);
  PyErr_NormalizeException(&kind, &error, &where);
  const PyRef held[] = {PyRef::steal(kind), PyRef::steal(error), PyRef::steal(where)};
  const PyRef words = checked(PyObject_Str(error));
  t.raise(PyExc_ValueError, text_of(checked(PyUnicode_Replace(words.get(), mark.get(), text.get(), 1)).get()));
}

// index(value[, start[, stop]])
ValueRef sequence_index(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "index", args, 1, 3);
  const auto n = static_cast<std::int64_t>(items_of(self).size());
  std::int64_t bounds[2] = {0, n};
  for (std::size_t k = 1; k < args.size(); ++k) {
    std::int64_t& at = bounds[k - 1];
    if (!constant_int(args[k], at)) throw WrongArguments{};
    if (at < 0) at = std::max<std::int64_t>(at + n, 0);
  }
  for (std::int64_t k = bounds[0]; k < bounds[1] && k < static_cast<std::int64_t>(items_of(self).size()); ++k)
    if (values_equal(t, items_of(self)[static_cast<std::size_t>(k)], args[0])) return t.integer(k);
  PyRef missed = args[0]->as_constant(), empty = checked(PyList_New(0));
  if (self.kind == ValueKind::Tuple) t.raise(PyExc_ValueError, "tuple.index(x): x not in tuple");
  if (missed) {
    (void)PyRef::steal(PyObject_CallMethod(empty.get(), "index", "O", missed.get()));
    t.raise_current();
  }
  raise_not_in_list(t, args[0]);
}

ValueRef sequence_count(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "count", args, 1, 1);
  std::int64_t n = 0;
  for (std::size_t k = 0; k < items_of(self).size(); ++k) {
    const ValueRef v = items_of(self)[k];
    n += values_equal(t, v, args[0]);
  }
  return t.integer(n);
}

// torch.Size.numel() and named tuples' _replace, _asdict.
ValueRef tuple_numel(Tracer& t, Value& self, CallArgs& args) {
  if (args.size() != 0) return {};
  std::int64_t n = 1, x;
  for (auto& v : items_of(self)) {
    if (!constant_int(v, x)) return {};
    n *= x;
  }
  return t.integer(n);
}

ValueRef tuple_replace(Tracer& t, Value& self, CallArgs& args) {
  auto& tuple = static_cast<TupleValue&>(self);
  if (!tuple.is_namedtuple() || !args.positional.empty()) return {};
  std::vector<ValueRef> items = tuple.items;
  PyObject* fields = own_attribute(tuple.type, "_fields");
  for (auto& [name, v] : args.keywords) {
    Py_ssize_t at = PySequence_Index(fields, name.get());
    if (at < 0) {
      clear_answer();
      t.raise(PyExc_ValueError, "Got unexpected field names: ['" + text_of(name.get()) + "']");
    }
    items[static_cast<std::size_t>(at)] = v;
  }
  return make_ref<TupleValue>(std::move(items), tuple.type);
}

ValueRef tuple_hash(Tracer& t, Value& self, CallArgs& args) {
  if (args.size() != 0) return {};
  const PyRef builtins = checked(import_module("builtins"));
  const PyRef hash = checked(PyObject_GetAttrString(builtins.get(), "hash"));
  return t.call(make_ref<BuiltinValue>(hash), CallArgs{{ValueRef(&self)}, {}});
}

constexpr MethodRow kRows[] = {
    {ValueKind::List, "append", list_append},      {ValueKind::List, "extend", list_extend},
    {ValueKind::List, "insert", list_insert},      {ValueKind::List, "pop", list_pop},
    {ValueKind::List, "remove", list_remove},      {ValueKind::List, "clear", list_clear},
    {ValueKind::List, "reverse", list_reverse},    {ValueKind::List, "sort", list_sort},
    {ValueKind::List, "copy", list_copy},          {ValueKind::List, "index", sequence_index},
    {ValueKind::List, "count", sequence_count},    {ValueKind::Tuple, "index", sequence_index},
    {ValueKind::Tuple, "count", sequence_count},   {ValueKind::Tuple, "numel", tuple_numel},
    {ValueKind::Tuple, "_replace", tuple_replace}, {ValueKind::Tuple, "__hash__", tuple_hash}};

}  // namespace

std::span<const MethodRow> list_methods() { return kRows; }

}  // namespace md
