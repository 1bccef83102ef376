// Makes the prototype of a class and rebuilds the class in a plan.
#include "frontend/values/made_class.h"

#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/descriptor.h"
#include "frontend/values/functions.h"
#include "frontend/values/refusals.h"

namespace md {

namespace {

bool is_special(std::string_view name) { return name.size() > 4 && name.starts_with("__") && name.ends_with("__"); }

// Names that say something about the class and change nothing in what it does.
bool only_describes(std::string_view name) {
  for (const char* known : {"__module__", "__qualname__", "__doc__", "__annotations__", "__firstlineno__",
                            "__static_attributes__", "__match_args__"})
    if (name == known) return true;
  return false;
}

// Of a type with methods by which classes ask what they hold. A real object answers for itself later, but it is told
// its name now.
bool has_a_say(Tracer& t, const Value& v) {
  PyTypeObject* type = v.python_type();
  const bool is_real = v.real && v.kind != ValueKind::Polyfilled;
  if (!type || (is_real && is_c_type(type))) return false;
  for (const char* name : {"__set_name__", "__get__", "__set__", "__delete__"}) {
    if (t.on_class(type, interned(name).get()).found) return true;
    if (is_real) return false;
  }
  return false;
}

PyRef function_stand_in(FunctionValue& fn) {
  PyRef made = checked(PyFunction_NewWithQualName(fn.code.get(), fn.globals.get(), fn.qualname.get()));
  if (!fn.closure.empty()) {
    PyRef cells = checked(PyTuple_New(static_cast<Py_ssize_t>(fn.closure.size())));
    for (std::size_t i = 0; i < fn.closure.size(); ++i)
      PyTuple_SET_ITEM(cells.get(), static_cast<Py_ssize_t>(i), checked(PyCell_New(nullptr)).release());
    checked(PyFunction_SetClosure(made.get(), cells.get()));
  }
  return made;
}

// What the class namespace of the prototype gets for a member.
PyRef member(Tracer& t, const std::string& name, const ValueRef& v) {
  const bool described = only_describes(name);
  if (is_special(name) && !described) {
    const bool callable = as<FunctionValue>(v) || as<DescriptorValue>(v);
    if (name == "__slots__" || name == "__del__" || name == "__init_subclass__") graph_break<GB0075>();
    if (!callable && !is_true_constant(v, Py_None)) graph_break<GB0075>();
  }
  PyRef c = v->as_constant();
  if (described && c) return c;
  if (c && is_constant_object(c.get())) return c;
  if (name == "__match_args__") graph_break<GB0075>();  // patterns look at the real one
  const bool known_kind = as<FunctionValue>(v) || as<DescriptorValue>(v) || as<MethodValue>(v) || as<ClassValue>(v);
  if (!known_kind && has_a_say(t, *v)) graph_break<GB0075>();
  return stand_in(t, v);
}

}  // namespace

PyRef stand_in(Tracer& t, const ValueRef& v) {
  if (auto* made = as<ClassValue>(v)) return made->real;
  if (auto known = v->real ? t.objects.known.find(v->real.get()) : t.objects.known.end();
      known != t.objects.known.end() && known->second == v)
    return v->real;
  const bool is_itself = v->kind == ValueKind::Function || v->kind == ValueKind::Builtin ||
                         v->kind == ValueKind::OpFunction || v->kind == ValueKind::Module;
  if (v->real && is_itself) {
    if (t.objects.known.emplace(v->real.get(), v).second) t.objects.keep_alive.push_back(v->real);
    return v->real;
  }
  PyRef object;
  if (auto* fn = as<FunctionValue>(v)) {
    object = function_stand_in(*fn);
  } else if (auto* descriptor = as<DescriptorValue>(v)) {
    object = descriptor->prototype(t);
  } else {
    object = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  }
  return PyRef::borrow(t.prototypes.add_stand_in(std::move(object), v));
}

void check_base(Tracer& t, const ValueRef& base) {
  PyRef object = class_object(base);
  if (!object || !PyType_Check(object.get()) || Py_TYPE(object.get()) != &PyType_Type) graph_break<GB0075>();
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(object.get());
  PyRef hook = interned("__init_subclass__");
  if (t.on_class(type, hook.get()).found != type_find(&PyBaseObject_Type, hook.get())) graph_break<GB0075>();
  if (PyType_IsSubtype(type, &PyType_Type) || PyType_IsSubtype(type, tensor_type)) graph_break<GB0075>();
  for (LibraryClass of : {LibraryClass::Module, LibraryClass::AutogradContext, LibraryClass::AutogradFunction})
    if (is_library_class(type, of)) graph_break<GB0075>();
}

ValueRef make_class(Tracer& t, PyRef name, std::vector<ValueRef> bases, Ref<DictValue> members) {
  PyRef space = checked(PyDict_New()), parents = checked(PyTuple_New(static_cast<Py_ssize_t>(bases.size())));
  for (std::size_t i = 0; i < bases.size(); ++i)
    PyTuple_SET_ITEM(parents.get(), static_cast<Py_ssize_t>(i), class_object(bases[i]).release());
  CellValue* cell = nullptr;
  for (auto& e : members->live()) {
    PyRef key = e.key->as_constant();
    const std::string n = text_of(key.get());
    ValueRef v = t.realize(e.value);
    if (n == "__classcell__") {
      cell = as<CellValue>(v);
      continue;
    }
    checked(PyDict_SetItem(space.get(), key.get(), member(t, n, v).get()));
  }
  PyRef type = PyRef::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyType_Type), name.get(),
                                                         parents.get(), space.get(), nullptr));
  if (!type) t.raise_current();
  auto cls = make_ref<ClassValue>(type);
  cls->made = std::make_shared<MadeClass>(MadeClass{std::move(name), std::move(bases), std::move(members)});
  t.prototypes.add_class(std::move(type), cls);
  if (cell) cell->set(t, cls);
  return cls;
}

ValueRef class_of_namespace(Tracer& t, const CallArgs& args) {
  const auto refuse = [&] {
    graph_break<GB0147_class>(std::string("BuiltinVariable(type)"), print_list(args.positional), print_keywords(args));
  };
  if (args.positional.size() != 3 || !args.keywords.empty()) refuse();
  for (std::size_t i = 0; i < 3; ++i) {
    PyTypeObject* const type = args[i]->python_type();
    const unsigned long wanted = i == 0   ? Py_TPFLAGS_UNICODE_SUBCLASS
                                 : i == 1 ? Py_TPFLAGS_TUPLE_SUBCLASS
                                          : Py_TPFLAGS_DICT_SUBCLASS;
    if (type && !PyType_FastSubclass(type, wanted)) throw WrongArguments{};
  }
  const PyRef name = args[0]->as_constant();
  auto* const bases = as<TupleValue>(args[1]);
  auto* const given = as<DictValue>(args[2]);
  if (!name || !PyUnicode_CheckExact(name.get()) || !bases || !given || given->python_type() != &PyDict_Type) refuse();
  std::vector<ValueRef> parents;
  for (const ValueRef& base : bases->items) parents.push_back(t.realize(base));
  auto members = make_ref<DictValue>(&PyDict_Type);  // the class has a dictionary of its own
  for (const ValueRef& key : collect(t, args[2])) {
    if (PyRef k = t.realize(key)->as_constant(); !k || !PyUnicode_CheckExact(k.get())) refuse();
    members->put(t, t.realize(key), given->find(t, key));
  }
  const ValueRef own = t.constant(interned("__module__"));
  PyObject* const module = find_item(t.frame().globals.get(), "__name__");
  if (module && !members->find(t, own)) members->put(t, own, t.from_object(module, nullptr));
  try {
    for (const ValueRef& base : parents) check_base(t, base);
    return make_class(t, name, std::move(parents), members);
  } catch (const GraphBreak& b) {
    if (b.code == 75) refuse();  // whose text speaks of class statements
    throw;
  }
}

// cls.__dict__: what the class statement or the call of type() was given, and what type() has put in beside it.
static ValueRef made_namespace(Tracer& t, const ClassValue& cls) {
  auto shown = make_ref<DictValue>(&PyDict_Type);
  const PyRef own = checked(PyDict_Copy(cls.type()->tp_dict));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(own.get(), &at, &key, &value);) {
    const std::string n = text_of(key);
    if (n == "__init_subclass__" || n == "__class_getitem__" || n == "__new__")  // type() has wrapped them
      unmodelled(cls.print() + ".__dict__", "attribute of a class made while tracing");
    const ValueRef name = t.constant(PyRef::borrow(key));
    const ValueRef given = cls.made->members->find(t, name);
    const bool described = Py_TYPE(value) == &PyGetSetDescr_Type;  // of the prototype: not to be handed on
    shown->put(t, name,
               given       ? given
               : described ? ValueRef(make_ref<OpaqueValue>(PyRef::borrow(value)))
                           : t.from_object(value, nullptr));
  }
  return make_ref<DictViewValue>(shown, ViewKind::Proxy);
}

ValueRef made_class_attr(Tracer& t, ClassValue& cls, PyObject* name) {
  const std::string n = text_of(name);
  PyTypeObject* type = cls.type();
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(&PyType_Type), nullptr);
  if (n == "__name__" || n == "__qualname__" || n == "__module__" || n == "__doc__") {
    PyRef v = checked(PyObject_GetAttr(cls.real.get(), name));
    if (ValueRef made = t.prototypes.value_of(v.get())) return made;
    if (is_constant_object(v.get())) return t.constant(v);
  }
  if (n == "__mro__" || n == "__bases__") {
    t.prototypes.each_real_base(type, [&](PyTypeObject* base) { t.expect_subclass(type, base, true); });
    PyObject* classes = n == "__mro__" ? type->tp_mro : type->tp_bases;
    std::vector<ValueRef> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
      items.push_back(t.from_object(PyTuple_GET_ITEM(classes, i), nullptr));
    return make_ref<TupleValue>(std::move(items));
  }
  PyObject *found = type_find(type, name), *of_type = type_find(&PyType_Type, name);
  t.expect_on_class(type, name, found);
  if (!found && !of_type)
    t.raise(PyExc_AttributeError, "type object '" + type_name(type) + "' has no attribute '" + n + "'");
  if (n == "__dict__") return made_namespace(t, cls);
  if (!found || (of_type && Py_TYPE(of_type)->tp_descr_set))
    unmodelled(cls.print() + "." + n, "attribute of a class made while tracing");
  const ValueRef value = t.prototypes.value_of(found);
  if (value && (Py_TYPE(found) == &PyProperty_Type || as<FunctionValue>(value))) return value;
  if (ValueRef v = python_get(t, found, {}, ValueRef(&cls))) return v;
  if (PyFunction_Check(found) || Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type)
    return bind_class_attr(t, found, nullptr, nullptr, ValueRef(&cls));
  const bool unbound = PyCFunction_Check(found) || Py_TYPE(found) == &PyMethodDescr_Type ||
                       Py_TYPE(found) == &PyWrapperDescr_Type || PyType_Check(found);
  if (Py_TYPE(found)->tp_descr_get && !unbound)
    unmodelled(cls.print() + "." + n, "descriptor implemented outside the traced program");
  return t.from_object(found, nullptr);
}

// Every member is there before the class is made: `fill` might put it off.
Reg rebuild_class(PlanBuilder& b, const ClassValue& cls) {
  const MadeClass& made = *cls.made;
  PlanStep space{StepOp::NewDict};
  space.object = PyRef::borrow(reinterpret_cast<PyObject*>(&PyDict_Type));
  const Reg members = b.step(std::move(space));
  for (auto& e : made.members->live()) {
    PlanStep set{StepOp::DictSet};
    set.a = members, set.regs = {b.rebuild(e.key), b.rebuild(e.value)};
    b.fill(std::move(set));
  }
  PlanStep call{StepOp::Call};
  call.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(&PyType_Type)));
  call.regs = {b.load_constant(made.name), b.rebuild(make_ref<TupleValue>(made.bases)), members};
  return b.step(std::move(call));
}

}  // namespace md
