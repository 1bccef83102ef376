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

bool is_defaultdict(PyTypeObject* type) {
  return std::string_view(type->tp_name) == "collections.defaultdict" && is_c_type(type);
}

static bool is_dict_base(PyTypeObject* base) {
  return base == &PyDict_Type || base == &PyODict_Type || is_defaultdict(base);
}

static bool is_mutable_base(PyTypeObject* base) {
  return base == &PyList_Type || base == &PySet_Type || is_dict_base(base);
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
  if (is_dict_base(base)) return make_ref<DictValue>(base);
  if (base == &PySet_Type) return make_ref<SetValue>(false);
  if (base == &PyTuple_Type && args.size() <= 1 && args.keywords.empty())
    return make_ref<TupleValue>(args.size() ? collect(t, args[0]) : std::vector<ValueRef>{});
  CallArgs plain = args;
  for (auto& v : plain.positional) v = data_of(t.realize(v));
  for (auto& [name, v] : plain.keywords) v = data_of(t.realize(v));
  auto* type = reinterpret_cast<PyObject*>(base);
  ValueRef made = t.realize(t.call(t.from_object(type, nullptr), std::move(plain)));
  // What is inside an object is one number: a size becomes an assumption.
  if (made->kind == ValueKind::Size)
    if (PyRef known = made->as_constant()) made = t.constant(known);
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

// What a list, dict or set of such a class holds goes in once the instance is there.
void ObjectValue::fill_payload(PlanBuilder& b, Reg instance) {
  if (auto* list = as<ListValue>(payload)) {
    return b.fill([&b, instance, held = list->items] {
      PlanStep s{StepOp::ListAssign};
      s.a = instance;
      for (auto& v : held) s.regs.push_back(b.rebuild(v));
      return s;
    });
  }
  if (auto* dict = as<DictValue>(payload)) {
    if (dict->default_factory)
      b.fill([&b, instance, factory = dict->default_factory] {
        return b.attribute(instance, interned("default_factory"), factory);
      });
    for (auto& e : dict->live())
      b.fill([&b, instance, e] {
        PlanStep s{StepOp::DictSet};
        s.a = instance, s.regs = {b.rebuild(e.key), b.rebuild(e.value)};
        return s;
      });
    return;
  }
  auto& set = static_cast<SetValue&>(*payload);
  if (set.comes_at_once()) {
    PlanStep update{StepOp::Call};
    update.a = b.load_constant(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), "update")));
    update.regs = {instance, b.rebuild(set.combine(b.tracer, "copy", {}))};
    (void)b.step(std::move(update));
    return;
  }
  for (auto& v : set.items(b.tracer))
    b.fill([&b, instance, v] {
      PlanStep s{StepOp::SetAdd};
      s.a = instance, s.b = b.rebuild(v);
      return s;
    });
}

DictValue* dict_with_factory(const ObjectValue& o, PyObject* name) {
  auto* const dict = as<DictValue>(o.payload);
  if (!dict || !is_defaultdict(dict->type) || PyUnicode_CompareWithASCIIString(name, "default_factory") != 0)
    return nullptr;
  return type_find(o.type, name) == type_find(dict->type, name) ? dict : nullptr;
}

// --- real instances --------------------------------------------------------------------------------------------------

static PyRef exact_copy(PyObject* o) {
  if (PyLong_Check(o)) return checked(PyLong_Type.tp_as_number->nb_add(o, checked(PyLong_FromLong(0)).get()));
  if (PyFloat_Check(o)) return checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(o)));
  if (PyComplex_Check(o)) return checked(PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(o)->cval));
  if (PyUnicode_Check(o)) return checked(PyUnicode_FromObject(o));
  return checked(PyBytes_FromStringAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o)));
}

void read_factory(Tracer& t, DictValue& dict, PyObject* o, SourceRef s) {
  const PyRef name = interned("default_factory");
  const SourceRef place = t.recorder.sources.child(s, SourceKind::Attr, name.get());
  const Attr factory = find_attr(o, name.get());
  if (factory.where != AttrWhere::Slot || !factory.value) return t.guard(GuardKind::NotPresent, place);
  const ValueRef made = t.wrap(factory.value.get(), place);
  if (!is_true_constant(made, Py_None)) dict.default_factory = made;
}

static ValueRef payload_of_real(Tracer& t, PyObject* o, SourceRef s, PyTypeObject* base) {
  if (is_dict_base(base)) {
    ValueRef dict = wrap_dict_items(t, o, s);
    static_cast<DictValue*>(dict.get())->type = base;
    if (is_defaultdict(base)) read_factory(t, static_cast<DictValue&>(*dict), o, s);
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

// defaultdict.__init__ takes its factory off the arguments, the rest is dict's.
static void take_factory(Tracer& t, const ObjectValue& self, DictValue& dict, CallArgs& args) {
  if (self.source) unmodelled_method(self, "__init__", args);  // the factory of an object that was there
  dict.default_factory = {};
  if (args.positional.empty()) return;
  const ValueRef factory = t.realize(args[0]);
  args.positional.erase(args.positional.begin());
  if (is_true_constant(factory, Py_None)) return;
  PyTypeObject* const type = factory->python_type();
  if (type && !type->tp_call) t.raise(PyExc_TypeError, "first argument must be callable or None");
  dict.default_factory = factory;
}

static ValueRef fill(Tracer& t, ObjectValue& self, CallArgs& args) {
  if (!is_mutable_base(layout_base(self.type))) return t.none();
  if (auto* dict = as<DictValue>(self.payload)) {
    if (is_defaultdict(dict->type)) take_factory(t, self, *dict, args);
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
  return PyType_IsSubtype(other, is_defaultdict(base) ? &PyDict_Type : base);
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

// | of an instance below OrderedDict or defaultdict makes another of its class, of the left side. Null: another
// operator.
static ValueRef joined_dict(Tracer& t, ObjectValue& self, const std::string& name, const ValueRef& other) {
  auto* const own = as<DictValue>(self.payload);
  if (!own || own->type == &PyDict_Type || (name != "__or__" && name != "__ror__")) return {};
  if (!as<DictValue>(data_of(other))) return t.constant(Py_NotImplemented);
  const ValueRef left = name == "__or__" ? ValueRef(&self) : other, right = name == "__or__" ? other : ValueRef(&self);
  CallArgs args{{left}, {}};
  if (is_defaultdict(own->type))
    args.positional.insert(args.positional.begin(), own->default_factory ? own->default_factory : t.none());
  const ValueRef made = t.realize(t.call(t.from_object(self.type_ref.get(), nullptr), std::move(args)));
  auto* const joined = is_defaultdict(own->type) ? as<DictValue>(data_of(made)) : nullptr;
  if (joined) fill_dict(t, *joined, right);
  if (joined) return made;
  for (const ValueRef& key : collect(t, right)) made->set_item(t, key, right->get_item(t, key));
  return made;
}

ValueRef base_operator(Tracer& t, ObjectValue& self, const std::string& name, const ValueRef& other) {
  if (ValueRef made = joined_dict(t, self, name, other)) return made;
  if (tensor_instance(ValueRef(&self))) return tensor_instance_operator(t, ValueRef(&self), name, other);
  if (name == "__rmod__" && formats_by_itself(t, ValueRef(&self))) unmodelled_method(self, name, CallArgs{{other}, {}});
  ValueRef r = data_operator(t, self.payload, name, other);
  return r.get() == self.payload.get() ? ValueRef(&self) : r;
}

// defaultdict.__missing__, which stores by the instance's own __setitem__.
static ValueRef made_by_factory(Tracer& t, ObjectValue& self, const ValueRef& key) {
  auto* const dict = as<DictValue>(self.payload);
  if (!dict->default_factory) raise_key_error(t, key);
  const ValueRef made = t.call(dict->default_factory, {});
  self.set_item(t, key, made);
  return made;
}

static ValueRef missing_item(Tracer& t, ObjectValue& self, const ValueRef& key) {
  auto* dict = as<DictValue>(self.payload);
  if (!dict || dict->contains(t, key)) return {};
  if (ValueRef hook = self.special(t, "__missing__")) return t.call(hook, CallArgs{{key}, {}});
  return dict->default_factory ? made_by_factory(t, self, key) : ValueRef();
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
  if (!own_attribute(base, name) && !(is_dict_base(base) && own_attribute(&PyDict_Type, name))) return {};
  if (one_of(n, {"__getattribute__", "__new__", "__class_getitem__", "__reversed__", "__sizeof__", "__getnewargs__",
                 "__reduce__", "__reduce_ex__"}))
    return {};
  const bool named_dict = is_dict_base(base) && base != &PyDict_Type;
  if (named_dict && one_of(n, {"copy", "__copy__", "__or__", "__ror__"})) return {};  // of the same class
  if (n == "__missing__" && is_defaultdict(base) && args.size() == 1 && args.keywords.empty())
    return made_by_factory(t, self, args[0]);
  if (one_of(n, {"__repr__", "__str__"}) && (self.payload->kind == ValueKind::Set || named_dict))
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
