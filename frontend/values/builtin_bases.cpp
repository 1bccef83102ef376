// Makes instances with a payload, wraps real ones, and decides when the builtin type's own method answers.
#include "frontend/values/builtin_bases.h"

#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/methods.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

PyTypeObject* layout_base(PyTypeObject* type) {
  while (!is_c_type(type)) type = type->tp_base;
  return type;
}

PyRef new_exception(PyTypeObject* type, const PyRef& args) {
  const PyTypeObject* base = layout_base(type);
  PyRef made = checked(base->tp_new(type, args.get(), nullptr));
  if (base->tp_init(made.get(), args.get(), nullptr) < 0) throw PythonError{};
  return made;
}

static bool is_mutable_base(PyTypeObject* base) {
  return base == &PyList_Type || base == &PyDict_Type || base == &PyODict_Type || base == &PySet_Type;
}

static bool is_number_or_text(PyTypeObject* base) {
  return base == &PyLong_Type || base == &PyFloat_Type || base == &PyComplex_Type || base == &PyUnicode_Type ||
         base == &PyBytes_Type;
}

bool is_data_base(PyTypeObject* base) {
  return is_mutable_base(base) || is_number_or_text(base) || base == &PyTuple_Type || base == &PyFrozenSet_Type;
}

bool is_usual_namedtuple(Tracer& t, PyTypeObject* type) {
  static const char* const operators[] = {"add", "and", "floordiv", "lshift", "matmul",  "mod", "mul",
                                          "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
  static const char* const others[] = {"__lt__",    "__le__",       "__eq__",           "__ne__",         "__gt__",
                                       "__ge__",    "__hash__",     "__len__",          "__iter__",       "__getitem__",
                                       "__bool__",  "__contains__", "__getattribute__", "__getattr__",    "__neg__",
                                       "__pos__",   "__call__",     "__reversed__",     "__invert__",     "__int__",
                                       "__float__", "__index__",    "__next__",         "__length_hint__"};
  const auto own = [&](const std::string& name) {
    PyObject* found = t.on_class(type, checked(PyUnicode_InternFromString(name.c_str())).get()).found;
    return found != type_find(&PyTuple_Type, checked(PyUnicode_InternFromString(name.c_str())).get());
  };
  if (t.prototypes.has(type)) return false;  // a constant of it would be a real instance
  for (const std::string name : operators)
    if (own("__" + name + "__") || own("__r" + name + "__") || own("__i" + name + "__")) return false;
  return std::ranges::none_of(others, own);
}

ValueRef data_of(const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  return o && o->payload ? o->payload : v;
}

static ValueRef fresh_payload(Tracer& t, PyTypeObject* base, const CallArgs& args) {
  if (base == &PyList_Type) return make_ref<ListValue>(std::vector<ValueRef>{});
  if (base == &PyDict_Type || base == &PyODict_Type) return make_ref<DictValue>(base);
  if (base == &PySet_Type) return make_ref<SetValue>(false);
  if (base == &PyTuple_Type && args.size() <= 1 && args.keywords.empty())
    return make_ref<TupleValue>(args.size() ? collect(t, args[0]) : std::vector<ValueRef>{});
  CallArgs plain = args;
  for (auto& v : plain.positional) v = data_of(t.realize(v));
  for (auto& [name, v] : plain.keywords) v = data_of(t.realize(v));
  auto* type = reinterpret_cast<PyObject*>(base);
  ValueRef made = t.realize(t.call(t.from_object(type, nullptr), std::move(plain)));
  if (made->kind != ValueKind::Constant && made->kind != ValueKind::Set)
    unmodelled(made->print(), "instance of a subclass of " + type_name(base));
  return made;
}

static void attach(Tracer& t, ObjectValue& self, ValueRef payload, PyTypeObject* base) {
  self.payload = std::move(payload);
  if (auto* tuple = as<TupleValue>(self.payload)) tuple->of_instance = true;
  if (!is_mutable_base(base)) return;
  self.payload->owner = &self;
  t.objects.data_owners.push_back(ValueRef(&self));
}

Ref<ObjectValue> new_with_data(Tracer& t, PyTypeObject* type, const CallArgs& args) {
  auto self = make_ref<ObjectValue>(type);
  PyTypeObject* base = layout_base(type);
  if (base != &PyBaseObject_Type) attach(t, *self, fresh_payload(t, base, args), base);
  return self;
}

// --- real instances --------------------------------------------------------------------------------------------------

static PyRef exact_copy(PyObject* o) {
  if (PyLong_Check(o)) return checked(PyLong_Type.tp_as_number->nb_add(o, checked(PyLong_FromLong(0)).get()));
  if (PyFloat_Check(o)) return checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(o)));
  if (PyComplex_Check(o)) return checked(PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(o)->cval));
  if (PyUnicode_Check(o)) return checked(PyUnicode_FromObject(o));
  return checked(PyBytes_FromStringAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o)));
}

static ValueRef payload_of_real(Tracer& t, PyObject* o, SourceRef s, PyTypeObject* base) {
  if (base == &PyDict_Type || base == &PyODict_Type) {
    ValueRef dict = wrap_dict_items(t, o, s);
    static_cast<DictValue*>(dict.get())->type = base;
    return dict;
  }
  const bool list = base == &PyList_Type;
  std::vector<ValueRef> items;
  const PyRef held = checked(list ? PyList_AsTuple(o) : PyTuple_GetSlice(o, 0, Py_SIZE(o)));
  const Py_ssize_t n = PyTuple_GET_SIZE(held.get());
  t.guard(GuardKind::LengthCheck, s, {}, n);
  for (Py_ssize_t i = 0; i < n; ++i)
    items.push_back(t.lazy(PyTuple_GET_ITEM(held.get(), i),
                           t.recorder.sources.child(s, SourceKind::ListItem, nullptr, static_cast<int>(i))));
  return list ? ValueRef(make_ref<ListValue>(std::move(items))) : ValueRef(make_ref<TupleValue>(std::move(items)));
}

ValueRef wrap_with_data(Tracer& t, PyObject* o, SourceRef s) {
  PyTypeObject *type = Py_TYPE(o), *base = layout_base(type);
  if (base == type || !is_data_base(base) || !has_normal_getattribute(type)) return {};
  if (base == &PySet_Type || base == &PyFrozenSet_Type) return {};
  auto self = make_ref<ObjectValue>(type);
  const bool member = is_enumeration(type);
  if (member)  // of an enumeration: it outlives the code
    t.guard(GuardKind::IdMatch, s, PyRef::borrow(o));
  else
    t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  if (is_number_or_text(base)) {
    const PyRef data = exact_copy(o);
    if (!member) t.guard(GuardKind::DataMatch, s, data);
    self->payload = t.constant(data);
    return self;
  }
  attach(t, *self, payload_of_real(t, o, s, base), base);
  self->payload->source = s;
  self->payload->real = PyRef::borrow(o);
  return self;
}

// --- methods ---------------------------------------------------------------------------------------------------------

static ValueRef fill(Tracer& t, ObjectValue& self, CallArgs& args) {
  if (!is_mutable_base(layout_base(self.type))) return t.none();
  if (auto* dict = as<DictValue>(self.payload)) {
    expect_at_most(t, "dict", args, 1);
    if (dict->type == &PyODict_Type && args.size() > 0 && self.special(t, "__setitem__"))
      unmodelled_method(self, "__init__", args);  // which stores by it
    if (args.size() > 0) dict->call_method(t, checked(PyUnicode_FromString("update")).get(), std::move(args));
    return t.none();
  }
  const bool list = self.payload->kind == ValueKind::List;
  if (!args.keywords.empty()) unmodelled_method(self, "__init__", args);
  expect_at_most(t, list ? "list" : "set", args, 1);
  self.payload->call_method(t, checked(PyUnicode_FromString("clear")).get(), {});
  if (args.size() > 0)
    self.payload->call_method(t, checked(PyUnicode_FromString(list ? "extend" : "update")).get(), std::move(args));
  return t.none();
}

static bool one_of(const std::string& name, std::initializer_list<const char*> names) {
  for (const char* n : names)
    if (name == n) return true;
  return false;
}

// Whether the base's own comparison or operator has an answer for an operand of this type.
static bool knows_operand(PyTypeObject* base, PyTypeObject* other) {
  if (!other) return false;
  if (base == &PySet_Type || base == &PyFrozenSet_Type)
    return PyType_IsSubtype(other, &PySet_Type) || PyType_IsSubtype(other, &PyFrozenSet_Type);
  return PyType_IsSubtype(other, base);
}

// Comparisons and arithmetic of containers; null: another method.
static ValueRef container_operator(Tracer& t, const ValueRef& data, const std::string& n, const ValueRef& raw) {
  static const char* const compares[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  ValueRef other = t.realize(raw);
  const bool known = knows_operand(data->python_type(), other->python_type());
  for (int op = Py_LT; op <= Py_GE; ++op)
    if (n == compares[op]) return known ? t.compare(data, data_of(other), op) : t.constant(Py_NotImplemented);
  static const std::pair<const char*, int> operators[] = {{"add__", 0}, {"and__", 1},  {"mul__", 5},
                                                          {"or__", 7},  {"sub__", 10}, {"xor__", 12}};
  for (auto& [name, number] : operators) {
    if (n != std::string("__") + name && n != std::string("__i") + name && n != std::string("__r") + name) continue;
    const bool inplace = n[2] == 'i', reflected = n[2] == 'r';
    if (!known && number != 0 && number != 5 && !(inplace && number == 7)) return t.constant(Py_NotImplemented);
    if (auto* list = as<ListValue>(data); list && inplace && number == 0) {
      extend_list(t, *list, other);
      return data;
    }
    if (data->kind == ValueKind::Dict && number == 7 && !reflected) {
      const ValueRef out = inplace ? data : data->call_method(t, checked(PyUnicode_InternFromString("copy")).get(), {});
      fill_dict(t, *as<DictValue>(out), other);
      return out;
    }
    const ValueRef b = data_of(other);
    return reflected ? t.binary_op(b, data, number) : t.binary_op(data, b, inplace ? number + 13 : number);
  }
  return {};
}

// A string's % asks its operand for a text, a number or its items, which the class may answer itself.
static bool formats_by_itself(Tracer& t, const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  static const char* const hooks[] = {"__str__",   "__repr__",    "__int__",    "__float__",
                                      "__index__", "__getitem__", "__missing__"};
  return o && std::ranges::any_of(hooks, [&](const char* hook) { return static_cast<bool>(o->special(t, hook)); });
}

ValueRef data_operator(Tracer& t, const ValueRef& data, const std::string& name, const ValueRef& other) {
  if (data->kind == ValueKind::Tensor) return tensor_instance_operator(t, data, name, other);
  PyRef key = checked(PyUnicode_InternFromString(name.c_str()));
  if (!data->python_type() || !type_find(data->python_type(), key.get())) return t.constant(Py_NotImplemented);
  if (name == "__mod__" && (data->python_type() == &PyUnicode_Type || data->python_type() == &PyBytes_Type) &&
      formats_by_itself(t, other))
    unmodelled_method(*data, name, CallArgs{{other}, {}});
  if (data->kind == ValueKind::Constant) return data->call_method(t, key.get(), CallArgs{{data_of(other)}, {}});
  if (ValueRef r = container_operator(t, data, name, other)) return r;
  unmodelled_method(*data, name, CallArgs{{other}, {}});
}

ValueRef base_operator(Tracer& t, ObjectValue& self, const std::string& name, const ValueRef& other) {
  if (tensor_instance(ValueRef(&self))) return tensor_instance_operator(t, ValueRef(&self), name, other);
  if (name == "__rmod__" && formats_by_itself(t, ValueRef(&self))) unmodelled_method(self, name, CallArgs{{other}, {}});
  ValueRef r = data_operator(t, self.payload, name, other);
  return r.get() == self.payload.get() ? ValueRef(&self) : r;
}

static ValueRef missing_item(Tracer& t, ObjectValue& self, const ValueRef& key) {
  auto* dict = as<DictValue>(self.payload);
  ValueRef hook = dict && !dict->contains(t, key) ? self.special(t, "__missing__") : ValueRef();
  return hook ? t.call(hook, CallArgs{{key}, {}}) : ValueRef();
}

static ValueRef container_slot(Tracer& t, ObjectValue& self, const std::string& n, CallArgs& args) {
  Value& data = *self.payload;
  if (n == "__len__" && args.size() == 0) return data.length_value(t);
  if (n == "__iter__" && args.size() == 0) return data.iter(t);
  if (args.size() == 1 && args.keywords.empty()) {
    if (n == "__contains__") return t.boolean(data.contains(t, data_of(t.realize(args[0]))));
    if (n == "__delitem__") {
      data.set_item(t, args[0], {});
      return t.none();
    }
    if (n == "__getitem__") {
      if (ValueRef found = missing_item(t, self, args[0])) return found;
      return data.get_item(t, args[0]);
    }
    if (ValueRef r = container_operator(t, self.payload, n, args[0])) return r;
  }
  if (n == "__setitem__" && args.size() == 2) {
    data.set_item(t, args[0], args[1]);
    return t.none();
  }
  return {};
}

static ValueRef base_method(Tracer& t, ObjectValue& self, PyObject* name, CallArgs& args) {
  if (!self.payload) return {};
  const std::string n = text_of(name);
  PyTypeObject* base = layout_base(self.type);
  if (n == "__init__") return fill(t, self, args);
  if (!own_attribute(base, name) && !(base == &PyODict_Type && own_attribute(&PyDict_Type, name))) return {};
  if (one_of(n, {"__getattribute__", "__new__", "__class_getitem__", "__reversed__", "__sizeof__", "__getnewargs__",
                 "__reduce__", "__reduce_ex__"}))
    return {};
  if (base == &PyODict_Type && one_of(n, {"copy", "__or__", "__ror__"})) return {};  // of the same class
  if (one_of(n, {"__repr__", "__str__"}) && (self.payload->kind == ValueKind::Set || base == &PyODict_Type))
    unmodelled_method(self, n, args);  // names the class, unlike the text of the others
  if (one_of(n, {"__repr__", "__str__"}) && args.size() == 0)
    return t.format_value(self.payload, n == "__str__" ? 1 : 2, {});
  if (n == "__hash__" && is_mutable_base(base)) return {};
  if (self.payload->kind != ValueKind::Constant)
    if (ValueRef r = container_slot(t, self, n, args))
      return r.get() == self.payload.get() && is_mutable_base(base) ? ValueRef(&self) : r;
  for (auto& v : args.positional) v = self.payload->kind == ValueKind::Constant ? data_of(t.realize(v)) : v;
  ValueRef r = self.payload->call_method(t, name, std::move(args));
  return r.get() == self.payload.get() && is_mutable_base(base) ? ValueRef(&self) : r;
}

ValueRef call_base_method(Tracer& t, ObjectValue& self, PyObject* name, CallArgs& args) {
  if (tensor_instance(ValueRef(&self))) return call_tensor_method(t, self, name, args);
  ValueRef r = base_method(t, self, name, args);
  // An iterator holds the instance, and not the data that stand for it in the trace.
  auto* sequence = r ? as<SequenceIterator>(r) : nullptr;
  if (sequence && !sequence->owner && sequence->base->kind != ValueKind::DictView) sequence->owner = ValueRef(&self);
  return r;
}

ValueRef index_value(Tracer& t, const ValueRef& raw) {
  ValueRef v = data_of(t.realize(raw));
  auto* o = as<ObjectValue>(v);
  ValueRef m = o ? o->special(t, "__index__") : ValueRef();
  if (!m) return v;
  const ValueRef given = t.realize(t.call(m, {}));
  PyTypeObject* type = given->python_type();
  if (type && !PyType_IsSubtype(type, &PyLong_Type))
    t.raise(PyExc_TypeError, "__index__ returned non-int (type " + type_name(type) + ")");
  if (type != &PyLong_Type) unmodelled_method(*o, "__index__");  // bools and the like come with a warning
  return data_of(given);
}

ValueRef inherited_fromkeys(Tracer& t, PyObject* function, CallArgs& args) {
  auto* const method = reinterpret_cast<PyCFunctionObject*>(function);
  const PyRef own = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "fromkeys"));
  if (method->m_ml != reinterpret_cast<PyCFunctionObject*>(own.get())->m_ml || !args.keywords.empty() ||
      args.size() < 1 || args.size() > 2)
    return {};
  const ValueRef made = t.realize(t.call(t.from_object(method->m_self, nullptr), {}));
  const ValueRef value = args.size() == 2 ? args[1] : t.none();
  for (auto& key : collect(t, t.realize(args[0]))) made->set_item(t, t.realize(key), value);
  return made;
}

}  // namespace md
