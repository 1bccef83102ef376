// Types, attributes, identity.
#include <algorithm>
#include <bit>
#include <cmath>

#include "frontend/builtins/families.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/made_class.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/tensor.h"
#include "frontend/values/type_expressions.h"

namespace md {

namespace {

// A module that compiler.disable() gave.
bool is_disabled_module(const ObjectValue& o) {
  if (!o.real || type_name(o.type) != "OptimizedModule" || !is_library_class(o.type, LibraryClass::Module))
    return false;
  PyObject** const own = _PyObject_GetDictPtr(o.real.get());
  PyObject* const call = own && *own ? find_item(*own, "_compiled_call") : nullptr;
  return call && has_attribute(call, "_torchdynamo_disabled_module");
}

// What breaks the graph once it is called, such as a method in place of an input: until then nothing is known of it.
bool is_postponed(const ValueRef& v) {
  if (auto* const o = as<ObjectValue>(v)) return is_disabled_module(*o);
  auto* const bound = as<BoundAttrValue>(v);
  auto* const x = bound ? as<TensorValue>(bound->self) : nullptr;
  return x && x->source && is_inplace_view(text_of(bound->name.get()));
}

PyTypeObject* type_or_break(const ValueRef& v, const std::string& asked = "") {
  PyTypeObject* const type = v->python_type();
  if (!type || (!asked.empty() && is_postponed(v))) graph_break<GB0175>(v->print(), asked);
  return type;
}

bool is_union_type(PyTypeObject* type) { return std::string_view(type->tp_name) == "types.UnionType"; }

// Where its type does not answer, isinstance() asks the object for its class.
bool tells_its_class(Tracer& t, const ValueRef& v, PyTypeObject* type) {
  // list[int] hands on what it is asked for, and is asked for its class itself.
  if (PyType_IsSubtype(type, &Py_GenericAliasType) && !has_getattr_hook(type)) return false;
  if (v->kind == ValueKind::Opaque && is_union_type(type)) return false;
  if (v->kind == ValueKind::Opaque)
    return type->tp_getattro != PyObject_GenericGetAttr && type->tp_getattro != PyModule_Type.tp_getattro;
  if (v->kind != ValueKind::Object) return false;
  PyRef own = checked(PyUnicode_InternFromString("__class__")),
        search = checked(PyUnicode_InternFromString("__getattribute__"));
  PyObject* found = t.on_class(type, search.get()).found;
  if (found && PyFunction_Check(found)) return true;
  return t.on_class(type, own.get()).found != type_find(&PyBaseObject_Type, own.get());
}

// isinstance() by what the object gives as its __class__, after its type did not answer. A class that collects others
// is asked about both.
bool is_told(Tracer& t, const ValueRef& v, PyTypeObject* type, PyObject* cls) {
  if (v->kind != ValueKind::Object) unmodelled(v->print(), "isinstance() of an object that tells its class itself");
  const ValueRef given = attribute_or_null(t, v, interned("__class__").get());
  const PyRef told = given ? class_object(t.realize(given)) : PyRef();
  const bool is_class = told && PyType_Check(told.get());
  const bool known = is_class && t.prototypes.has(reinterpret_cast<PyTypeObject*>(told.get()));
  if (known || t.prototypes.has(reinterpret_cast<PyTypeObject*>(cls)))
    unmodelled(v->print(), "isinstance() of an object that tells its class itself");
  const auto below = [&](PyTypeObject* of) {
    if (PyType_CheckExact(cls)) {
      const bool is = PyType_IsSubtype(of, reinterpret_cast<PyTypeObject*>(cls));
      t.expect_subclass(of, reinterpret_cast<PyTypeObject*>(cls), is);
      return is;
    }
    const bool is = checked(PyObject_IsSubclass(reinterpret_cast<PyObject*>(of), cls));
    if (!is) t.expect_no_registration();
    return is;
  };
  if (is_class && below(reinterpret_cast<PyTypeObject*>(told.get()))) return true;
  return !PyType_CheckExact(cls) && below(type);
}

// The members of int | str; null: it is no union, or one with others than classes.
PyRef classes_of_union(PyObject* o) {
  if (!is_union_type(Py_TYPE(o))) return {};
  PyRef members = checked(PyObject_GetAttrString(o, "__args__"));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(members.get()); ++i)
    if (!PyType_Check(PyTuple_GET_ITEM(members.get(), i))) return {};
  return members;
}

// The Python method by which a metaclass answers isinstance() or issubclass(); null: the class is found in the mro, or
// is an abstract one, which its registry answers for.
ValueRef meta_check(Tracer& t, PyObject* cls, const char* name) {
  if (!PyType_Check(cls) || PyType_CheckExact(cls)) return {};
  const auto [found, place] = t.on_class(Py_TYPE(cls), checked(PyUnicode_InternFromString(name)).get());
  if (!found || !PyFunction_Check(found)) return {};
  PyObject* module = find_item(PyFunction_GET_GLOBALS(found), "__name__");
  if (module && PyUnicode_Check(module) && text_of(module) == "abc") return {};
  return make_ref<MethodValue>(t.wrap(found, place), t.from_object(cls, nullptr));
}

// isinstance without user code: exact metaclass `type` (or ABCs answered from their registry for builtin types).
bool instance_of(Tracer& t, const ValueRef& v, PyObject* cls) {
  if (PyRef members = classes_of_union(cls)) return instance_of(t, v, members.get());
  if (PyTuple_Check(cls)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i)
      if (instance_of(t, v, PyTuple_GET_ITEM(cls, i))) return true;
    return false;
  }
  PyTypeObject* type = type_or_break(v, repr_of(cls));
  if (type == &PyMemberDescr_Type && !t.config.trace_more) listed_break<GB0194>(v->print(), repr_of(cls));
  if (reinterpret_cast<PyObject*>(type) != cls)
    if (ValueRef check = meta_check(t, cls, "__instancecheck__"))
      return t.realize(t.call(check, CallArgs{{v}, {}}))->truth(t);
  if (PyType_Check(cls)) {
    const bool is = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls));
    t.expect_subclass(type, reinterpret_cast<PyTypeObject*>(cls), is);
    if (is && PyType_CheckExact(cls)) return true;
    if (tells_its_class(t, v, type)) return is || is_told(t, v, type, cls);
    if (is || PyType_CheckExact(cls)) return is;
  } else if (tells_its_class(t, v, type)) {
    unmodelled(v->print(), "isinstance() of an object that tells its class itself");
  }
  const int r = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), cls);
  if (r < 0) {
    clear_answer();
    throw WrongArguments{};
  }
  if (!r) t.expect_no_registration();
  return r != 0;
}

// Python's own limit of recursion decides how deep tuples of classes may nest: far below it nothing has to be asked.
constexpr int kMaxTuples = 16;

void check_nesting(int depth) {
  if (depth > kMaxTuples) unmodelled("isinstance", "tuples of classes that nest deep");
}

// A class, or a tuple of them whose items nobody has looked at yet.
PyRef classes_of(Tracer& t, const ValueRef& raw, int depth = 0) {
  check_nesting(depth);
  ValueRef v = t.realize(raw);
  if (auto* tuple = as<TupleValue>(v))
    for (auto& item : tuple->items) (void)classes_of(t, item, depth + 1);
  return class_object(v);
}

bool instance_of_value(Tracer& t, const ValueRef& v, const ValueRef& classes, int depth) {
  check_nesting(depth);
  if (auto* tuple = as<TupleValue>(classes))
    return std::ranges::any_of(tuple->items,
                               [&](const ValueRef& cls) { return instance_of_value(t, v, t.realize(cls), depth + 1); });
  PyRef cls = class_object(classes);
  if (!cls && is_of_typing(*classes)) cls = type_expression(t, classes);  // int | str, typing.Mapping
  if (!cls) unmodelled(classes->print(), "class argument of isinstance");
  return instance_of(t, v, cls.get());
}

ValueRef rule_isinstance(Tracer& t, CallArgs& args) {
  expect_args(t, "isinstance", args, 2, 2);
  return t.boolean(instance_of_value(t, args[0], args[1], 0));
}

ValueRef rule_issubclass(Tracer& t, CallArgs& args) {
  expect_args(t, "issubclass", args, 2, 2);
  PyRef a = class_object(args[0]), b = is_of_typing(*args[1]) ? type_expression(t, args[1]) : classes_of(t, args[1]);
  if (!a || !b) graph_break<GB0195>(args[0]->print(), args[1]->print());
  if (auto* several = as<TupleValue>(args[1])) {
    for (auto& cls : several->items)
      if (CallArgs one{{args[0], t.realize(cls)}, {}}; rule_issubclass(t, one)->truth(t)) return t.boolean(true);
    return t.boolean(false);
  }
  if (ValueRef check = meta_check(t, b.get(), "__subclasscheck__"))
    return t.boolean(t.realize(t.call(check, CallArgs{{args[0]}, {}}))->truth(t));
  const int r = PyObject_IsSubclass(a.get(), b.get());
  if (r < 0) t.raise_current();
  if (!r && !PyType_CheckExact(b.get())) t.expect_no_registration();
  if (PyType_Check(a.get()) && PyType_Check(b.get())) {
    auto *sub = reinterpret_cast<PyTypeObject*>(a.get()), *base = reinterpret_cast<PyTypeObject*>(b.get());
    t.expect_subclass(sub, base, PyType_IsSubtype(sub, base));
  }
  return t.boolean(r != 0);
}

// What abc.ABCMeta asks for an instance: a class that is no base is found by its registry, or by a hook of the class.
ValueRef rule_abc_instancecheck(Tracer& t, CallArgs& args) {
  expect_args(t, "_abc_instancecheck", args, 2, 2);
  const PyRef cls = class_object(args[0]);
  PyTypeObject* const type = type_or_break(args[1]);
  if (!cls || tells_its_class(t, args[1], type)) unmodelled(args[1]->print(), "isinstance() of such an object");
  const PyRef is =
      PyRef::steal(PyObject_CallMethod(cls.get(), "__subclasscheck__", "O", reinterpret_cast<PyObject*>(type)));
  if (!is) {
    clear_answer();
    unmodelled(args[0]->print(), "isinstance() that the class refuses");
  }
  t.expect_no_registration();
  return t.boolean(checked(PyObject_IsTrue(is.get())));
}

// typing.NewType
ValueRef rule_itself(Tracer& t, CallArgs& args) {
  expect_args(t, "_idfunc", args, 1, 1);
  return args[0];
}

ValueRef rule_type(Tracer& t, CallArgs& args) {
  if (args.size() == 0 || (args.size() == 2 && args.keywords.empty())) expect_args(t, "type", args, 1, 1);
  if (args.size() != 1) return class_of_namespace(t, args);
  SourceRef s = args[0]->source ? t.recorder.sources.child(args[0]->source, SourceKind::TypeOf) : nullptr;
  return t.from_object(reinterpret_cast<PyObject*>(type_or_break(args[0])),
                       s && args[0]->kind == ValueKind::Object ? s : nullptr);
}

// Python refuses a name that is known and no string.
void expect_name(const ValueRef& v) {
  if (PyRef name = v->as_constant(); name && !PyUnicode_Check(name.get())) throw WrongArguments{};
}

// The trace has taken the attribute from the object, and the class has nothing in its place.
bool is_deleted(Tracer& t, const ValueRef& v, PyObject* name) {
  auto* o = as<ObjectValue>(v);
  const auto* s = o ? o->stored(name) : nullptr;
  if (!s || s->value || o->type->tp_getattro != PyObject_GenericGetAttr) return false;
  for (const char* hook : {"__getattr__", "__getattribute__"})
    (void)t.on_class(o->type, interned(hook).get(), o->source);
  return !t.on_class(o->type, name, o->source).found;
}

ValueRef rule_getattr(Tracer& t, CallArgs& args) {
  expect_args(t, "getattr", args, 2, 3);
  expect_name(args[1]);
  PyRef name = attr_name(args[1], args[0]->print(), args.size() == 3 ? args[2]->print() : std::string("None"));
  if (args.size() == 2) return args[0]->get_attr(t, name.get());
  const bool asks = args[0]->kind == ValueKind::Super || args[0]->kind == ValueKind::Slice;
  if (asks && !t.config.trace_more) (void)args[0]->has_attr(t, name.get());
  if (is_deleted(t, args[0], name.get())) return args[2];
  try {
    return args[0]->get_attr(t, name.get());
  } catch (const TracedRaise& e) {
    if (!PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) throw;
    return args[2];
  }
}

ValueRef rule_hasattr(Tracer& t, CallArgs& args) {
  expect_args(t, "hasattr", args, 2, 2);
  expect_name(args[1]);
  if (is_deleted(t, args[0], attr_name(args[1]).get())) return t.boolean(false);
  const bool has = args[0]->has_attr(t, attr_name(args[1]).get());
  if (auto* d = as<DictValue>(args[0]); d && !has && d->python_type() != &PyDict_Type && !t.config.trace_more)
    listed_break<GB0217>(type_name(d->python_type()), text_of(attr_name(args[1]).get()));
  return t.boolean(has);
}

ValueRef rule_setattr(Tracer& t, CallArgs& args) {
  expect_args(t, "setattr", args, 3, 3);
  expect_name(args[1]);
  args[0]->set_attr(t, attr_name(args[1]).get(), args[2]);
  return t.none();
}

ValueRef rule_delattr(Tracer& t, CallArgs& args) {
  expect_args(t, "delattr", args, 2, 2);
  expect_name(args[1]);
  args[0]->set_attr(t, attr_name(args[1]).get(), {});
  return t.none();
}

ValueRef rule_callable(Tracer& t, CallArgs& args) {
  expect_args(t, "callable", args, 1, 1);
  PyTypeObject* type = type_or_break(args[0]);
  t.expect_on_class(type, attr_name(t.constant(checked(PyUnicode_FromString("__call__")))).get(),
                    type_find(type, checked(PyUnicode_FromString("__call__")).get()));
  return t.boolean(type->tp_call != nullptr);
}

ValueRef rule_object(Tracer& t, CallArgs& args) {
  expect_args(t, "object", args, 0, 0);
  return make_ref<ObjectValue>(&PyBaseObject_Type);
}

// id() of something that existed before; guarded by identity.
ValueRef rule_id(Tracer& t, CallArgs& args) {
  expect_args(t, "id", args, 1, 1);
  const ValueRef& v = args[0];
  if (v->kind == ValueKind::Tensor && !v->source) graph_break<GB0141>(v->print());
  // Named by a call of NumPy's bridge, which the reference cannot make while it traces.
  if (v->kind == ValueKind::Array && v->source && !t.config.trace_more) listed_break<GB0048>(v->print());
  if (!v->real || !v->source) graph_break<GB0191>(v->print());
  // Code run at compile time may have taken it away since.
  if (v->kind == ValueKind::Tensor && load(v->source, t.args).get() != v->real.get()) graph_break<GB0176>(v->print());
  t.guard(GuardKind::IdMatch, v->source, v->real);
  return t.constant(checked(PyLong_FromVoidPtr(v->real.get())));
}

ValueRef rule_super(Tracer& t, CallArgs& args) {
  if (args.size() == 2) {
    PyRef start = class_object(args[0]);
    if (!start || !PyType_Check(start.get())) t.raise(PyExc_TypeError, "super() argument 1 must be a type");
    return make_ref<SuperValue>(reinterpret_cast<PyTypeObject*>(start.get()), args[1]);
  }
  if (args.size() > 2) expect_args(t, "super", args, 0, 2);
  if (args.size() != 0) unmodelled("super", "unbound super object");
  SymbolicFrame& f = t.frame();
  const int at = f.body->slot("__class__");
  if (at < 0) t.raise(PyExc_RuntimeError, "super(): __class__ cell not found");
  auto* cell = as<CellValue>(t.realize(f.slots[static_cast<std::size_t>(at)]));
  ValueRef cls = cell ? cell->get(t) : ValueRef();
  PyRef start = cls ? class_object(t.realize(cls)) : PyRef();
  if (!start || f.body->argcount == 0) t.raise(PyExc_RuntimeError, "super(): no arguments");
  ValueRef self = is_null(f.slots[0]) ? ValueRef() : t.realize(f.slots[0]);
  const bool shared = f.body->slot_kinds[0] & kSlotCell;  // by a closure
  if (auto* c = as<CellValue>(self); c && shared) self = c->get(t) ? t.realize(c->get(t)) : ValueRef();
  if (is_null(self)) t.raise(PyExc_RuntimeError, "super(): arg[0] deleted");
  auto* start_type = reinterpret_cast<PyTypeObject*>(start.get());
  const auto below = [&](PyTypeObject* type) { return type && PyType_IsSubtype(type, start_type); };
  auto* cls_self = as<ClassValue>(self);  // a class method's class, or what a metaclass made
  if (!PyType_Check(start.get()) || !(below(self->python_type()) || (cls_self && below(cls_self->type()))))
    unmodelled("super()", "argument that is no instance of the class");
  return make_ref<SuperValue>(start_type, self);
}

ValueRef rule_repr(Tracer& t, CallArgs& args) {
  expect_args(t, "repr", args, 1, 1);
  return t.format_value(args[0], 2, {});
}

// A container of the program's class, whose __str__ is written in C: by the registry not traced.
void break_on_text_of_container(Tracer& t, const ValueRef& v) {
  const auto* o = as<ObjectValue>(v);
  if (!o || !o->payload || o->payload->kind == ValueKind::Constant || t.config.trace_more) return;
  const PyRef name = checked(PyUnicode_InternFromString("__str__"));
  PyObject* const own = t.on_class(o->type, name.get(), o->source).found;
  if (own && Py_TYPE(own) == &PyWrapperDescr_Type && own != type_find(&PyBaseObject_Type, name.get()))
    listed_break<GB0005>(repr_of(reinterpret_cast<PyObject*>(o->type)));
}

ValueRef rule_str(Tracer& t, CallArgs& args) {
  if (args.size() == 0) return t.constant(checked(PyUnicode_FromString("")));
  if (args.size() != 1) return {};
  ValueRef object = args.take_keyword("object");
  if (!object) object = args[0];
  break_on_text_of_container(t, t.realize(object));
  return t.format_value(object, 1, {});
}

ValueRef rule_format(Tracer& t, CallArgs& args) {
  expect_args(t, "format", args, 1, 2);
  if (args.size() == 2 && args[1]->python_type() && !PyType_IsSubtype(args[1]->python_type(), &PyUnicode_Type))
    throw WrongArguments{};
  return t.format_value(args[0], 0, args.size() == 2 ? args[1] : ValueRef());
}

ValueRef rule_vars(Tracer& t, CallArgs& args) {
  if (args.size() == 0) return t.call(t.from_object(find_item(t.frame().builtins.get(), "locals"), nullptr), {});
  auto* o = args.size() == 1 ? as<ObjectValue>(args[0]) : nullptr;
  const PyRef name = checked(PyUnicode_InternFromString("__dict__"));
  if (auto* made = args.size() == 1 ? as<PolyfilledValue>(args[0]) : nullptr; made && type_find(made->type, name.get()))
    return made->get_attr(t, name.get());
  if (args.size() == 1 && args[0]->kind == ValueKind::Class) return args[0]->get_attr(t, name.get());
  if (!o) {
    PyTypeObject* const type = args.size() == 1 && !args.positional.empty() ? args[0]->python_type() : nullptr;
    return type && type_find(type, name.get()) ? args[0]->get_attr(t, name.get()) : ValueRef();
  }
  PyObject* const found = t.on_class(o->type, name.get(), o->source).found;
  if (found) return Py_TYPE(found) == &PyGetSetDescr_Type ? o->instance_dict(t) : ValueRef();
  if (o->special(t, "__getattr__") || o->special(t, "__getattribute__")) return {};
  t.expect_on_class(o->type, name.get(), nullptr);
  t.raise(PyExc_TypeError, "vars() argument must have __dict__ attribute");
}

// What hash() makes of what a __hash__ gave: another int, where it does not fit.
ValueRef hash_result(Tracer& t, const ValueRef& v) {
  PyRef c = data_of(v)->as_constant();
  if (!c || !PyLong_Check(c.get())) t.raise(PyExc_TypeError, "__hash__ method should return an integer");
  const Py_ssize_t small = PyLong_AsSsize_t(c.get());
  if (small == -1 && PyErr_Occurred()) {
    clear_answer();
    return t.integer(PyObject_Hash(c.get()));
  }
  return t.integer(small == -1 ? -2 : small);
}

// The hash of a NaN tells one from another, which neither guards nor constants of a trace do.
bool holds_nan(PyObject* o) {
  if (PyFloat_Check(o)) return std::isnan(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) return std::isnan(PyComplex_RealAsDouble(o)) || std::isnan(PyComplex_ImagAsDouble(o));
  if (!PyTuple_CheckExact(o)) return PyFrozenSet_Check(o) && holds_nan(checked(PySequence_Tuple(o)).get());
  PyObject** items = PySequence_Fast_ITEMS(o);
  return std::any_of(items, items + PyTuple_GET_SIZE(o), holds_nan);
}

ValueRef rule_hash(Tracer& t, CallArgs& args);

// What tuple.__hash__ makes of the hashes of its items, of which some are the program's to tell.
ValueRef hash_of_items(Tracer& t, const TupleValue& tuple) {
  constexpr Py_uhash_t k1 = 11400714785074694791ULL, k2 = 14029467366897019727ULL, k5 = 2870177450012600261ULL;
  Py_uhash_t sum = k5;
  for (const ValueRef& item : tuple.items) {
    CallArgs one{{t.realize(item)}, {}};
    std::int64_t n;
    const ValueRef h = rule_hash(t, one);
    if (!h || !constant_int(h, n)) return {};
    sum = std::rotl(sum + static_cast<Py_uhash_t>(n) * k2, 31) * k1;
  }
  sum += tuple.items.size() ^ (k5 ^ 3527539UL);
  return t.integer(sum == static_cast<Py_uhash_t>(-1) ? 1546275796 : static_cast<Py_hash_t>(sum));
}

// What frozenset.__hash__ makes of them: whatever their order.
ValueRef hash_of_members(Tracer& t, SetValue& set) {
  const auto shuffled = [](Py_uhash_t h) { return ((h ^ 89869747UL) ^ (h << 16)) * 3644798167UL; };
  Py_uhash_t sum = 0;
  for (const ValueRef& member : set.items(t)) {
    CallArgs one{{t.realize(member)}, {}};
    std::int64_t n;
    const ValueRef h = rule_hash(t, one);
    if (!h || !constant_int(h, n)) return {};
    sum ^= shuffled(static_cast<Py_uhash_t>(n));
  }
  sum ^= (static_cast<Py_uhash_t>(PySet_GET_SIZE(set.members.get())) + 1) * 1927868237UL;
  sum ^= (sum >> 11) ^ (sum >> 25);
  sum = sum * 69069U + 907133923UL;
  return t.integer(sum == static_cast<Py_uhash_t>(-1) ? 590923713 : static_cast<Py_hash_t>(sum));
}

ValueRef rule_hash(Tracer& t, CallArgs& args) {
  expect_args(t, "hash", args, 1, 1);
  if (auto* o = as<ObjectValue>(args[0])) {
    if (ValueRef m = o->special(t, "__hash__")) return hash_result(t, t.realize(t.call(m, {})));
    PyRef name = checked(PyUnicode_InternFromString("__hash__"));
    if (t.on_class(o->type, name.get(), o->source).found == Py_None)
      t.raise(PyExc_TypeError, std::string("unhashable type: '") + o->type->tp_name + "'");
  }
  if (args[0]->kind == ValueKind::Deque)
    t.raise(PyExc_TypeError, std::string("unhashable type: '") + args[0]->python_type()->tp_name + "'");
  PyRef c = data_of(args[0])->as_constant();
  if (!c && args[0]->real && args[0]->kind == ValueKind::Object && hashes_by_identity(Py_TYPE(args[0]->real.get())))
    c = key_object(t, args[0]);  // itself, guarded
  if (auto* tuple = c ? nullptr : as<TupleValue>(args[0]); tuple && tuple->python_type() == &PyTuple_Type)
    return hash_of_items(t, *tuple);
  if (auto* set = c ? nullptr : as<SetValue>(args[0]); set && set->frozen) return hash_of_members(t, *set);
  if (!c && is_type_of_c(*args[0])) c = type_expression(t, args[0]);
  if (!c) return {};
  if (holds_nan(c.get())) unmodelled(args[0]->print(), "hash of a NaN");
  const Py_hash_t h = PyObject_Hash(c.get());
  if (h == -1) t.raise_current();
  return t.integer(h);
}

constexpr BuiltinRow kObjectRules[] = {{"builtins", "isinstance", rule_isinstance},
                                       {"builtins", "issubclass", rule_issubclass},
                                       {"_abc", "_abc_instancecheck", rule_abc_instancecheck},
                                       {"_typing", "_idfunc", rule_itself},
                                       {"builtins", "type", rule_type},
                                       {"builtins", "getattr", rule_getattr},
                                       {"builtins", "hasattr", rule_hasattr},
                                       {"builtins", "setattr", rule_setattr},
                                       {"builtins", "delattr", rule_delattr},
                                       {"builtins", "callable", rule_callable},
                                       {"builtins", "object", rule_object},
                                       {"builtins", "id", rule_id},
                                       {"builtins", "super", rule_super},
                                       {"builtins", "repr", rule_repr},
                                       {"builtins", "str", rule_str},
                                       {"builtins", "format", rule_format},
                                       {"builtins", "vars", rule_vars},
                                       {"builtins", "hash", rule_hash}};

}  // namespace

std::span<const BuiltinRow> object_rules() { return kObjectRules; }

}  // namespace md
