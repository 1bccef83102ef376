// Classes and super().
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/refused_names.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/entries/compiled_object.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/listed_raises.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/class_stores.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/descriptor.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/functions.h"
#include "frontend/values/handled_values.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/library_values.h"
#include "frontend/values/made_class.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_subclass.h"
#include "frontend/values/type_expressions.h"

namespace md {

// --- classes --------------------------------------------------------------------------------------------------------

// Immutable classes, and their tuples with them, are the same for ever.
static bool is_fixed(PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

static PyRef interned_text(const char* text) { return checked(PyUnicode_InternFromString(text)); }

std::string ClassValue::print() const { return "UserDefinedClassVariable(" + repr_of(real.get()) + ")"; }

PyRef class_object(const ValueRef& v) {
  auto* cls = as<ClassValue>(v);
  return cls ? cls->real : v->as_constant();
}

// What `type` itself answers of a class, whatever the class's namespace holds under the name.
ValueRef ClassValue::type_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "__name__" || n == "__qualname__") {
    PyRef v = checked(PyObject_GetAttr(real.get(), name));
    return t.from_object(v.get(),
                         is_fixed(type()) ? nullptr : t.recorder.sources.child(source, SourceKind::Field, name));
  }
  if (n == "__module__" || n == "__doc__" || n == "__mro__" || n == "__bases__") {
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    const auto [held, place] = t.on_class(type(), name);
    if (place && held == v.get()) return t.from_object(held, place);
    if (!is_fixed(type()) && (v.get() == type()->tp_mro || v.get() == type()->tp_bases))
      return t.wrap(v.get(), t.recorder.sources.child(source, SourceKind::Field, name));
    ValueRef folded = from_folded(t, v.get());
    if (folded->kind == ValueKind::Tuple) folded->real = v;  // the class's own
    return folded;
  }
  if (n == "__annotations__" || n == "__abstractmethods__" || n == "__type_params__") {  // a class's own only
    if (n == "__annotations__" && !is_fixed(type())) (void)checked(PyObject_GetAttr(real.get(), name));  // empty: made
    PyObject* const own = own_attribute(type(), name);
    if (!own && n == "__abstractmethods__") {  // only the class's own count
      t.expect_on_class(type(), name, type_find(type(), name));
      t.raise(PyExc_AttributeError, n);
    }
    if (!own || !source || Py_TYPE(own)->tp_descr_get) unmodelled(print() + "." + n, "attribute that a class computes");
    return t.lazy(own, t.recorder.sources.child(source, SourceKind::ClassAttr, name));
  }
  const bool layout = n == "__basicsize__" || n == "__itemsize__" || n == "__dictoffset__" || n == "__weakrefoffset__";
  if (n != "__dict__" && n != "__base__" && !layout) unmodelled(print() + "." + n, "attribute of a class");
  if (n == "__base__" && !is_fixed(type()))
    t.guard(GuardKind::IdMatch, t.recorder.sources.child(source, SourceKind::Field, interned_text("__bases__").get()),
            PyRef::borrow(type()->tp_bases));
  if (n == "__dict__") (void)t.stored_global(real.get(), name);
  PyRef v = checked(PyObject_GetAttr(real.get(), name));
  return t.from_object(v.get(), nullptr);
}

// type.__getattribute__: descriptors of the metaclass that can store, then the class, then the rest of the metaclass.
ValueRef ClassValue::get_attr(Tracer& t, PyObject* name) {
  if (made) return made_class_attr(t, *this, name);
  const std::string n = text_of(name);
  if (n == "__members__" && is_enumeration(type()))
    return from_folded(t, checked(PyObject_GetAttr(real.get(), name)).get());
  PyTypeObject* meta = Py_TYPE(real.get());
  if (meta->tp_getattro != PyType_Type.tp_getattro && !has_getattr_hook(meta))
    unmodelled(print() + "." + n, "metaclass with its own __getattribute__");
  PyObject* of_meta = type_find(meta, name);
  if (of_meta && Py_TYPE(of_meta)->tp_descr_set) {
    t.expect_precedence(meta, name);
    if (n == "__class__" && of_meta == type_find(&PyBaseObject_Type, name))
      return t.from_object(reinterpret_cast<PyObject*>(meta), nullptr);
    return of_meta == own_attribute(&PyType_Type, name) ? type_attr(t, name) : meta_attr(t, name);
  }
  if (ValueRef stored = stored_on_class(t, type(), name)) return stored;
  PyObject* found = type_find(type(), name);
  SourceRef src = source ? t.recorder.sources.child(source, SourceKind::Attr, name) : nullptr;
  if (!found) {
    t.expect_on_class(type(), name, nullptr);
    return meta_attr(t, name);
  }
  t.expect_precedence(meta, name);
  if (Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyMemberDescr_Type) {
    t.expect_on_class(type(), name, found);
    return make_ref<OpaqueValue>(PyRef::borrow(found));
  }
  if (Py_TYPE(found) == &PyStaticMethod_Type && source) {  // by the way there: it may die with its class
    PyRef key = checked(PyUnicode_InternFromString("__func__")), inner = checked(PyObject_GetAttr(found, key.get()));
    SourceRef held = t.recorder.sources.child(source, SourceKind::ClassAttr, name);
    return t.from_object(inner.get(), t.recorder.sources.child(held, SourceKind::Field, key.get()));
  }
  if (Py_TYPE(found)->tp_descr_get && !binds_as_function(found) && !PyType_Check(found))
    t.expect_on_class(type(), name, found);
  if (ValueRef v = python_get(t, found, {}, ValueRef(this))) return v;
  if (Py_TYPE(found)->tp_descr_get && !binds_as_function(found) && !PyType_Check(found) &&
      Py_TYPE(found) != &PyStaticMethod_Type && Py_TYPE(found) != &PyClassMethod_Type) {
    if (Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE && !is_wrapped_method(found) && !is_op_function(found) &&
        !is_refused_name(found) && Py_TYPE(found) != tuplegetter_type())
      unmodelled(print() + "." + n, "descriptor implemented outside the traced program");
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  return bind_class_attr(t, found, src, nullptr, ValueRef(this));
}

// Read off the metaclass: its functions are methods of the class, its properties are called with it.
ValueRef ClassValue::meta_attr(Tracer& t, PyObject* name) {
  PyTypeObject* meta = Py_TYPE(real.get());
  const auto [found, place] = t.on_class(meta, name);
  if (!found) {
    const auto hook = t.on_class(meta, checked(PyUnicode_InternFromString("__getattr__")).get());
    if (!hook.found)
      t.raise(PyExc_AttributeError,
              std::string("type object '") + type_name(type()) + "' has no attribute '" + text_of(name) + "'");
    // Enumerations keep their members there.
    if (!is_enumeration(type())) unmodelled(print(), "class attribute only user code can find");
    if (ValueRef member = member_of(t, *this, "_member_map_", name)) return member;
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  const bool plain = !Py_TYPE(found)->tp_descr_get || PyFunction_Check(found) || Py_TYPE(found) == &PyProperty_Type;
  if (plain)
    return bind_class_attr(t, found, place, ValueRef(this), t.from_object(reinterpret_cast<PyObject*>(meta), nullptr));
  if (ValueRef v = python_get(t, found, ValueRef(this), t.from_object(reinterpret_cast<PyObject*>(meta), nullptr)))
    return v;
  if (Py_TYPE(found)->tp_descr_set) unmodelled(print() + "." + text_of(name), "attribute of a class");
  return make_ref<BuiltinValue>(checked(PyObject_GetAttr(real.get(), name)));
}

ValueRef ClassValue::get_item(Tracer& t, const ValueRef& key) {
  if (!is_enumeration(type())) return subscripted(t, key);
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  if (ValueRef member = member_of(t, *this, "_member_map_", k.get())) return member;
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return t.from_object(r.get(), nullptr);  // members of an enumeration stay
}

// By the metaclass or by __class_getitem__; generic classes of the library answer for themselves.
ValueRef ClassValue::subscripted(Tracer& t, const ValueRef& key) {
  const auto name = [](const char* n) { return checked(PyUnicode_InternFromString(n)); };
  if (const auto m = t.on_class(Py_TYPE(real.get()), name("__getitem__").get()); m.found) {
    if (!PyFunction_Check(m.found)) unmodelled(print(), "subscript of a class");
    return t.call(t.wrap(m.found, m.source), CallArgs{{ValueRef(this), key}, {}});
  }
  const auto own = t.on_class(type(), name("__class_getitem__").get());
  if (!own.found) return Value::get_item(t, key);
  PyRef function = PyRef::steal(PyObject_GetAttrString(own.found, "__func__"));
  clear_answer();
  PyRef module = function ? PyRef::steal(PyObject_GetAttrString(function.get(), "__module__")) : PyRef();
  clear_answer();
  if (function && PyFunction_Check(function.get()) && !(module && text_of(module.get()) == "typing"))
    return t.call(get_attr(t, name("__class_getitem__").get()), CallArgs{{key}, {}});
  ValueRef generic = subscript_type(t, real.get(), key);
  return generic ? generic : Value::get_item(t, key);
}

ValueRef ClassValue::meta_special(Tracer& t, const char* name) {
  const auto [found, place] = t.on_class(Py_TYPE(real.get()), checked(PyUnicode_InternFromString(name)).get());
  if (!found || !PyFunction_Check(found) || is_enumeration(type())) return {};
  return make_ref<MethodValue>(t.wrap(found, place), ValueRef(this));
}

std::optional<std::int64_t> ClassValue::length(Tracer& t) {
  if (is_enumeration(type())) {
    const Py_ssize_t n = PyObject_Length(real.get());
    if (n < 0) t.raise_current();
    return n;
  }
  ValueRef m = meta_special(t, "__len__");
  std::int64_t n;
  if (!m) return Value::length(t);
  if (!constant_int(t.realize(t.call(m, {})), n) || n < 0) unmodelled(print(), "__len__ that gives no constant");
  return n;
}

bool ClassValue::truth(Tracer& t) {
  if (Py_TYPE(real.get()) == &PyType_Type || is_enumeration(type())) return true;
  if (ValueRef m = meta_special(t, "__bool__")) return t.realize(t.call(m, {}))->truth(t);
  if (ValueRef m = meta_special(t, "__len__")) return *length(t) != 0;
  return true;
}

bool ClassValue::contains(Tracer& t, const ValueRef& item) {
  // Enumerations too: what counts as a member is for their metaclass to say.
  const auto own = t.on_class(Py_TYPE(real.get()), checked(PyUnicode_InternFromString("__contains__")).get());
  if (own.found && PyFunction_Check(own.found))
    return t.realize(t.call(t.wrap(own.found, own.source), CallArgs{{ValueRef(this), item}, {}}))->truth(t);
  for (auto& x : collect(t, ValueRef(this)))
    if (values_equal(t, x, item)) return true;
  return false;
}

ValueRef ClassValue::iter(Tracer& t) {
  if (ValueRef m = meta_special(t, "__iter__")) return t.call(m, {});
  if (!is_enumeration(type())) return Value::iter(t);
  std::vector<ValueRef> items;
  PyRef it = checked(PyObject_GetIter(real.get()));
  while (PyRef x = PyRef::steal(PyIter_Next(it.get()))) items.push_back(t.from_object(x.get(), nullptr));
  return make_ref<SequenceIterator>(std::move(items), ValueRef(this));
}

static bool is_exception_class(PyTypeObject* type) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

// The nearest `__new__` that C implements, of the class that lays out instances; else its instances are not modelled.
static bool has_usual_new(PyTypeObject* type) {
  PyTypeObject* base = layout_base(type);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    PyObject* own = own_attribute(cls, "__new__");
    if (own && PyCFunction_Check(own))
      return cls == base || cls == tensor_type || cls == &PyBaseObject_Type ||
             (PyType_IsSubtype(base, cls) && base->tp_new == cls->tp_new);
  }
  return false;
}

// Only the C code of the class, or of a base of it, knows how its instances are made.
[[noreturn]] static void refuse_c_instance(ClassValue& cls, const CallArgs& args) {
  graph_break<GB0147>(cls.print(), print_list(args.positional), print_keywords(args));
}

// A variable lets go of the instance where plain Python does. What only the stack of the resumed code held would live
// on, so that such a frame runs whole.
[[noreturn]] static void break_where_made(Tracer& t, const ClassValue& cls) {
  GraphBreak b = make_not_modelled<GB0147_construct>(cls.print(), std::string("instance of a class with __del__"));
  const SymbolicFrame& f = t.frame();
  const auto next = static_cast<std::size_t>(f.current) + 1;
  const Opcode op = next < f.body->instructions.size() ? f.body->instructions[next].op : Opcode::NOP;
  const bool named =
      op == Opcode::STORE_FAST || op == Opcode::STORE_DEREF || op == Opcode::STORE_GLOBAL || op == Opcode::RETURN_VALUE;
  b.looks_at_frame = t.stack.frames.size() == 1 && !named;
  throw b;
}

// base.__new__(cls, ...)
// Dropping the instance would have to run it, when that is: the trace has to keep it.
static void refuse_finalizer(Tracer& t, ClassValue& cls, const CallArgs& args) {
  PyObject* const found = t.on_class(cls.type(), checked(PyUnicode_InternFromString("__del__")).get()).found;
  const bool in_c = layout_base(cls.type()) != &PyBaseObject_Type && !is_data_base(layout_base(cls.type()));
  if (found && (in_c || Py_TYPE(found) == &PyWrapperDescr_Type)) refuse_c_instance(cls, args);
  if (found && !may_make_to_act(t)) break_where_made(t, cls);
}

ValueRef new_instance(Tracer& t, ClassValue& cls, const CallArgs& args) {
  PyTypeObject *type = cls.type(), *base = layout_base(type);
  if (ValueRef v = new_library_value(t, cls, args)) return v;
  refuse_finalizer(t, cls, args);
  if (is_exception_class(type)) {
    // Made anew outside of the trace it would run its __new__ once more, with other arguments.
    if (type->tp_new != base->tp_new) unmodelled(cls.print(), "instance of an exception class with its own __new__");
    // Made anew outside of the trace it would run the initialisation as well, which may not take these arguments.
    if (base->tp_init != reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_init)
      unmodelled(cls.print(), "instance of an exception class that was not initialised");
    return make_ref<ExceptionValue>(type, args.positional);
  }
  if (PyType_IsSubtype(type, tensor_type) && type != tensor_type && has_usual_new(type))
    return new_tensor_instance(t, type, args);
  if (!has_usual_new(type) || (base != &PyBaseObject_Type && (!is_data_base(base) || base == type))) {
    if (find_item(t.frame().builtins.get(), type->tp_name) != reinterpret_cast<PyObject*>(type))
      refuse_c_instance(cls, args);
    const std::string has_keywords = args.keywords.empty() ? "False" : "True";
    const bool describes = type == &PyProperty_Type || type == &PyStaticMethod_Type || type == &PyClassMethod_Type;
    if (describes && !t.config.trace_more)
      listed_break<GB0059>(std::string(type->tp_name), argument_types(t, args), has_keywords);
    graph_break<GB0059>(std::string(type->tp_name), argument_types(t, args), has_keywords);
  }
  if (base == &PyTuple_Type && type_find(type, checked(PyUnicode_InternFromString("_fields")).get()) &&
      args.size() == 1 && args.keywords.empty() &&
      is_usual_namedtuple(t, type))  // named tuples are tuples whose items have names
    return make_ref<TupleValue>(collect(t, args[0]), type);
  if (is_defaultdict(base) && !t.config.trace_more)
    listed_break<GB0147>(cls.print(), print_list(args.positional), print_keywords(args));
  PyRef abstract = checked(PyUnicode_InternFromString("__abstractmethods__"));
  t.expect_on_class(type, abstract.get(), type_find(type, abstract.get()));
  if (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) {
    PyRef refused = PyRef::steal(PyBaseObject_Type.tp_new(type, checked(PyTuple_New(0)).get(), nullptr));
    if (!refused) t.raise_current();
  }
  const Ref<ObjectValue> made = new_with_data(t, type, args);
  if (has_finalizer(type)) t.objects.data_owners.push_back(made);
  return made;
}

// What type.__call__ does with a new instance; `made` is one of the class or of one below it.
static void initialise(Tracer& t, const ValueRef& made, CallArgs args, bool python_new) {
  PyTypeObject* type = made->python_type();
  const auto [init, place] = t.on_class(type, checked(PyUnicode_InternFromString("__init__")).get());
  auto* o = as<ObjectValue>(made);
  ValueRef method = init && PyFunction_Check(init) ? t.wrap(init, place) : ValueRef();
  if (method)
    args.positional.insert(args.positional.begin(), made);
  else if (o)
    method = o->special(t, "__init__");  // some other descriptor
  if (method) {
    ValueRef r = t.realize(t.call(method, std::move(args)));
    if (!is_true_constant(r, Py_None))
      t.raise(PyExc_TypeError, std::string("__init__() should return None, not '") +
                                   (r->python_type() ? r->python_type()->tp_name : "object") + "'");
    return;
  }
  PyRef name = checked(PyUnicode_InternFromString("__init__"));
  if (o && o->payload) {
    call_base_method(t, *o, name.get(), args);
    return;
  }
  if (args.size() == 0 || !o) return;
  // object.__init__ takes what a __new__ of the class has taken.
  if (!python_new) t.raise(PyExc_TypeError, std::string(type_name(type)) + "() takes no arguments");
}

// An assert statement with a constant message that fails where no part may end: it has a code of its own, whatever the
// message is.
static bool fails_as_whole(Tracer& t) {
  const SymbolicFrame& f = t.frame();
  const auto& code = f.body->instructions;
  const auto k = static_cast<std::size_t>(f.current);
  if (!t.config.fullgraph || k < 2 || code[k - 1].op != Opcode::LOAD_CONST) return false;
  return std::any_of(code.begin() + static_cast<std::ptrdiff_t>(k < 4 ? 0 : k - 4), code.begin() + f.current,
                     [](const Instruction& i) { return i.op == Opcode::LOAD_ASSERTION_ERROR; });
}

static ValueRef instantiate_exception(Tracer& t, ClassValue& cls, CallArgs args) {
  PyTypeObject* type = cls.type();
  Ref<ExceptionValue> group;
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup))) {
    group = new_group(t, cls, args.positional);
    type = group->type;
  }
  const auto [init, place] = t.on_class(type, checked(PyUnicode_InternFromString("__init__")).get());
  if (init && PyFunction_Check(init)) {
    auto e = group ? group : make_ref<ExceptionValue>(type, args.positional);
    initialise(t, e, std::move(args), false);
    return e;
  }
  if (type == reinterpret_cast<PyTypeObject*>(PyExc_AssertionError))
    for (auto& a : args.positional)
      if (PyRef c = t.realize(a)->as_constant(); !c || (!PyUnicode_Check(c.get()) && !fails_as_whole(t)))
        graph_break<GB0171>(print_list(args.positional));
  if (!args.keywords.empty()) unmodelled(cls.print(), "an exception made with keyword arguments");
  if (group) return group;
  if (type == cls.type()) type = type_of_exception(t, cls, args.positional);
  return make_ref<ExceptionValue>(type, args.positional);
}

// type.__call__: __new__, then __init__, both inlined.
ValueRef instantiate(Tracer& t, ClassValue& cls, CallArgs args) {
  PyTypeObject* type = cls.type();
  if (class_has_handler(type) && type_find(type, checked(PyUnicode_InternFromString("__tensor_flatten__")).get()))
    return make_handled(t, cls, std::move(args));
  refuse_finalizer(t, cls, args);
  PyRef new_name = checked(PyUnicode_InternFromString("__new__"));
  PyObject* found = type_find(type, new_name.get());
  t.expect_on_class(type, new_name.get(), found);
  PyRef function =
      found && Py_TYPE(found) == &PyStaticMethod_Type ? checked(PyObject_GetAttrString(found, "__func__")) : PyRef();
  const bool python_new = function && PyFunction_Check(function.get());
  if (python_new) {
    CallArgs given = args;
    given.positional.insert(given.positional.begin(), ValueRef(&cls));
    ValueRef made = t.realize(t.call(t.wrap(function.get(), nullptr), std::move(given)));
    if (!made->python_type()) unmodelled(made->print(), "what a __new__ gave");
    t.expect_subclass(made->python_type(), type, PyType_IsSubtype(made->python_type(), type) != 0);
    if (PyType_IsSubtype(made->python_type(), type)) initialise(t, made, std::move(args), true);
    return made;
  }
  if (is_exception_class(type)) return instantiate_exception(t, cls, std::move(args));
  if (ValueRef v = new_library_value(t, cls, args)) return v;
  ValueRef self = new_instance(t, cls, args);
  initialise(t, self, std::move(args), false);
  return self;
}

// No member of the enumeration has the value, and its class has a `_missing_` of the program's.
static bool asks_the_program(PyTypeObject* type, PyObject* value) {
  PyObject* known = type_find(type, checked(PyUnicode_InternFromString("_value2member_map_")).get());
  const int there = known && PyDict_Check(known) ? PyDict_Contains(known, value) : 0;
  if (there < 0) clear_answer();
  PyObject* missing = type_find(type, checked(PyUnicode_InternFromString("_missing_")).get());
  PyRef module = there <= 0 && missing ? PyRef::steal(PyObject_GetAttrString(missing, "__module__")) : PyRef();
  clear_answer();
  return module && text_of(module.get()) != "enum";
}

// An enumeration called with a value.
ValueRef ClassValue::find_member(Tracer& t, const ValueRef& value) {
  ValueRef given = t.realize(value);
  if (given->python_type() == type()) return given;
  PyRef v = given->as_constant();
  if (v)
    if (ValueRef known = member_of(t, *this, "_value2member_map_", v.get())) return known;
  if (!v || asks_the_program(type(), v.get()))
    graph_break<GB0054>(value->print(), repr_of(checked(PyObject_GetAttrString(real.get(), "__members__")).get()));
  PyRef member = PyRef::steal(PyObject_CallOneArg(real.get(), v.get()));
  if (!member && breaks_where_raised(t) && PyErr_ExceptionMatches(PyExc_ValueError)) {
    PyErr_Clear();
    graph_break<GB0054>(value->print(), repr_of(checked(PyObject_GetAttrString(real.get(), "__members__")).get()));
  }
  if (!member) t.raise_current();
  return t.from_object(member.get(), nullptr);
}

ValueRef ClassValue::call(Tracer& t, CallArgs args) {
  if (ValueRef v = new_descriptor(t, *this, args)) return v;
  if (is_enumeration(type()) && args.size() == 1) {
    if (!args.positional.empty()) return find_member(t, args[0]);
    if (text_of(args.keywords[0].first.get()) == "value") return find_member(t, args.keywords[0].second);
  }
  const auto own = t.on_class(Py_TYPE(real.get()), checked(PyUnicode_InternFromString("__call__")).get());
  if (PyType_IsSubtype(type(), &PyType_Type)) refuse_c_instance(*this, args);
  if (is_enumeration(type())) unmodelled(print(), "making a class");
  if (own.found && PyFunction_Check(own.found)) {
    args.positional.insert(args.positional.begin(), ValueRef(this));
    return t.call(t.wrap(own.found, own.source), std::move(args));
  }
  if (own.found && PyType_Check(own.found)) return t.call(t.from_object(own.found, own.source), std::move(args));
  if (own.found != type_find(&PyType_Type, checked(PyUnicode_InternFromString("__call__")).get()))
    unmodelled(print(), "a metaclass with its own __call__");
  return instantiate(t, *this, std::move(args));
}

Reg ClassValue::rebuild(PlanBuilder& b) {
  if (made) return rebuild_class(b, *this);
  return source ? b.load_source(source) : b.load_constant(real);
}

// --- super() --------------------------------------------------------------------------------------------------------

ValueRef SuperValue::get_attr(Tracer& t, PyObject* name) {
  // Of a class method or __new__; a metaclass's methods have a class as their instance.
  auto* as_class = as<ClassValue>(self);
  const bool on_class = as_class && PyType_IsSubtype(as_class->type(), start);
  PyTypeObject* type = on_class ? static_cast<ClassValue*>(self.get())->type() : self->python_type();
  PyObject* mro = type ? type->tp_mro : nullptr;
  if (!mro) unmodelled(print(), "super() of a value without a type");
  if (ValueRef v = stored_behind(t, type, start, name))
    return v->kind == ValueKind::Function && !on_class ? ValueRef(make_ref<MethodValue>(v, self)) : v;
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (cls == start) {
      after = true;
      continue;
    }
    if (!after) continue;
    PyObject* found = own_attribute(cls, name);
    if (!found) continue;
    t.expect_on_class(type, name, found, start);
    const bool binds = !on_class || Py_TYPE(found) == &PyClassMethodDescr_Type;
    if (binds && is_wrapped_method(found)) return make_ref<MethodValue>(t.from_object(found, nullptr), self);
    return bind_class_attr(t, found, nullptr, on_class ? nullptr : self,
                           on_class ? self : t.from_object(reinterpret_cast<PyObject*>(type), nullptr));
  }
  t.expect_on_class(type, name, nullptr, start);
  if (!t.config.trace_more) listed_break<GB0113>(text_of(name), std::string(type_name(start)));
  t.raise(PyExc_AttributeError, "'super' object has no attribute '" + text_of(name) + "'");
}

}  // namespace md
