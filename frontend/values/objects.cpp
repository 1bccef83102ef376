// User objects: attribute access by raw look-ups, so that no user code runs outside the trace.
#include "frontend/values/objects.h"

#include <structmember.h>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/entries/compiled_object.h"
#include "frontend/plan/hidden_entries.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/listed_raises.h"
#include "frontend/values/attribute_dict.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/class_stores.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/cycles.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/functions.h"
#include "frontend/values/handled_values.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/module_breaks.h"
#include "frontend/values/object_slots.h"
#include "frontend/values/pinned_modules.h"
#include "frontend/values/tensor_subclass.h"
#include "frontend/values/type_expressions.h"

namespace md {

ObjectValue::ObjectValue(PyTypeObject* type)
    : Value(kKind), type(type), type_ref(PyRef::borrow(reinterpret_cast<PyObject*>(type))) {}

// An instance made while tracing of a class that `with` takes is shown as what it is for.
std::string ObjectValue::print() const {
  auto has = [&](const char* name) { return type_find(type, interned(name).get()) != nullptr; };
  if (is_library_class(type, LibraryClass::AutogradContext))
    return "AutogradFunctionContextVariable(" + type_name(type) + ")";
  if (payload && payload->kind == ValueKind::Tensor) return "TensorWithTFOverrideVariable()";
  const bool manager = !real && has("__enter__") && has("__exit__");
  return std::string(manager ? "GenericContextWrappingVariable(" : "UserDefinedObjectVariable(") + type_name(type) +
         ")";
}

static bool is_data_descriptor(PyObject* o) { return Py_TYPE(o)->tp_descr_set != nullptr; }

bool is_wrapped_method(PyObject* found) {
  PyTypeObject* type = Py_TYPE(found);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type;
}

ValueRef python_get(Tracer& t, PyObject* found, const ValueRef& self, const ValueRef& cls) {
  PyRef key = checked(PyUnicode_InternFromString("__get__"));
  PyObject* get = PyType_Check(found) ? nullptr : type_find(Py_TYPE(found), key.get());
  if (!PyType_Check(found)) t.expect_on_class(Py_TYPE(found), key.get(), get);
  if (!get || !PyFunction_Check(get)) return {};
  return t.call(t.wrap(get, nullptr), CallArgs{{t.from_object(found, nullptr), self ? self : t.none(), cls}, {}});
}

// Static methods, class methods and properties, also of classes derived from these types.
static bool binds_like(PyObject* found, PyTypeObject* type) {
  return PyObject_TypeCheck(found, type) && Py_TYPE(found)->tp_descr_get == type->tp_descr_get;
}

// A field of a named tuple: the item it stands for. Null: it is no such descriptor, or no named tuple's.
static ValueRef named_item(PyObject* found, const ValueRef& self) {
  auto* o = as<ObjectValue>(self);
  auto* tuple = o ? as<TupleValue>(o->payload) : nullptr;
  return tuple ? tuple->named_item(found) : ValueRef();
}

// Python's own rule for what a class attribute gives: functions bind, static and class methods unwrap.
ValueRef bind_class_attr(Tracer& t, PyObject* found, SourceRef src, const ValueRef& self, const ValueRef& cls) {
  if (binds_as_function(found))
    return self ? ValueRef(make_ref<MethodValue>(t.wrap(found, src), self)) : t.wrap(found, src);
  if (binds_like(found, &PyStaticMethod_Type) || binds_like(found, &PyClassMethod_Type)) {
    PyRef inner = checked(PyObject_GetAttrString(found, "__func__"));
    ValueRef f = t.from_object(inner.get(), nullptr);
    if (binds_like(found, &PyClassMethod_Type) && !binds_as_function(inner.get()))
      graph_break<GB0177>(repr_of(inner.get()));
    return binds_like(found, &PyStaticMethod_Type) ? f : ValueRef(make_ref<MethodValue>(t.realize(f), cls));
  }
  if (binds_like(found, &PyProperty_Type) && self) {
    PyRef get = checked(PyObject_GetAttrString(found, "fget"));
    if (!PyFunction_Check(get.get())) unmodelled(repr_of(found), "property without a Python getter");
    CallArgs args;
    args.positional.push_back(self);
    return t.call(t.wrap(get.get(), nullptr), std::move(args));
  }
  if (ValueRef v = python_get(t, found, self, cls)) return v;
  if (ValueRef v = self ? named_item(found, self) : ValueRef()) return v;
  if (self && Py_TYPE(found)->tp_descr_get && !PyType_Check(found)) {
    if (binds_like_method(found)) return make_ref<MethodValue>(t.realize(t.from_object(found, src)), self);
    if (is_call_cache(found)) return make_ref<MethodValue>(t.from_object(found, src), self);
    unmodelled(repr_of(found), "descriptor implemented outside the traced program");
  }
  // Looked at now: a property in its place would be no value.
  return t.from_object(found, src);
}

// What the search does not find, or an AttributeError on its way, is for __getattr__ to answer.
ValueRef ObjectValue::get_attr(Tracer& t, PyObject* name) {
  PyRef own = interned("__getattribute__");
  const auto search = t.on_class(type, own.get(), source);
  const bool overridden = search.found && PyFunction_Check(search.found);
  if (search.found && !overridden && type->tp_getattro != PyObject_GenericGetAttr && !has_getattr_hook(type))
    unmodelled(print() + "." + text_of(name), "class with its own __getattribute__");
  const auto hook = t.on_class(type, interned("__getattr__").get(), source);
  if (!hook.found && !overridden) return plain_attr(t, name);
  const CallArgs asked{{ValueRef(this), t.constant(name)}, {}};
  try {
    if (!overridden) return plain_attr(t, name);
    const ValueRef own_search = t.wrap(search.found, search.source);
    return is_pinned(t, *this) ? pinned_attribute(t, *this, own_search, name) : t.call(own_search, asked);
  } catch (const TracedRaise& e) {
    if (!hook.found ||
        !PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError)))
      throw;
  }
  const bool of_module = is_library_class(type, LibraryClass::Module);
  if (PyFunction_Check(hook.found) || (!of_module && is_c_slot(hook.found)))
    return t.call(t.wrap(hook.found, hook.source), asked);
  if (of_module) graph_break<GB0211>(print(), text_of(name));
  unmodelled(print() + "." + text_of(name), "__getattr__ that is no Python function");
}

ValueRef ObjectValue::plain_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "__class__" && t.on_class(type, name, source).found == type_find(&PyBaseObject_Type, name))
    return t.from_object(type_ref.get(), source ? t.recorder.sources.child(source, SourceKind::TypeOf) : nullptr);
  if (tensor_instance(ValueRef(this)))
    if (ValueRef v = tensor_instance_attr(t, *this, name)) return v;
  if (const Stored* own = stored(name); payload && !(own && own->value))
    if (ValueRef v = handled_attr(t, *this, name)) return v;
  PyObject* found = found_on_class(t, type, name);
  ValueRef cls = t.from_object(type_ref.get(), nullptr);
  if (ValueRef v = member_field(t, *this, found, name)) return v;
  if (DictValue* dict = dict_with_factory(*this, name)) return dict->get_attr(t, name);
  const bool slot = found && Py_TYPE(found) == &PyMemberDescr_Type;
  if (found && is_data_descriptor(found) && !slot) {
    if (n == "__dict__" && Py_TYPE(found) == &PyGetSetDescr_Type) return instance_dict(t);
    t.expect_precedence(type, name);
    // What the instance itself has comes before a descriptor that only stores.
    if (!Py_TYPE(found)->tp_descr_get) unmodelled(print() + "." + n, "descriptor without __get__");
    return bind_class_attr(t, found, nullptr, ValueRef(this), cls);
  }
  const Stored* s = stored(name);
  if (s && s->value) return s->value;  // the store has looked at the class
  if (s && t.uncaught() && !found) graph_break<GB0010>(print(), n);
  if (real && !s) {
    if (slot && finds_attributes_itself(*this)) unmodelled(print() + "." + n, "attribute only user code can find");
    Attr a = finds_attributes_itself(*this) ? attr_past_getattribute(real.get(), name) : find_attr(real.get(), name);
    if (a.where == AttrWhere::Undecidable) unmodelled(print() + "." + n, "attribute only user code can find");
    if (a.where == AttrWhere::Slot)
      return t.lazy(a.value.get(), source ? t.recorder.sources.child(source, SourceKind::Attr, name) : nullptr);
    if (a.where == AttrWhere::Instance) {
      t.expect_precedence(type, name);
      return t.lazy(a.value.get(), source ? t.recorder.sources.child(source, SourceKind::InstanceDict, name) : nullptr);
    }
    if (source)
      t.guard(GuardKind::NotPresent,
              t.recorder.sources.child(source, slot ? SourceKind::Attr : SourceKind::InstanceDict, name));
  }
  if (ValueRef v = slot ? ValueRef() : stored_on_class(t, type, name))
    return v->kind == ValueKind::Function ? ValueRef(make_ref<MethodValue>(v, ValueRef(this))) : v;
  const auto attribute = t.on_class(type, name, source);
  if (found && !slot) {
    break_on_listed_attr(t, *this, name, found);
    return bind_class_attr(t, found, attribute.source, ValueRef(this), cls);
  }
  t.raise(PyExc_AttributeError, std::string("'") + type_name(type) + "' object has no attribute '" + n + "'");
}

// A dictionary and attributes that are one another: changes of either are seen in both.
ValueRef ObjectValue::instance_dict(Tracer& t) {
  if (!attribute_dict) {
    auto made = make_ref<AttributeDictValue>(Ref<ObjectValue>(this));
    attribute_dict = made.get();
    t.objects.data_owners.push_back(made);
  }
  return ValueRef(attribute_dict);
}

void ObjectValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  // Either of the two makes both the class's business.
  (void)t.on_class(type, interned(v ? "__delattr__" : "__setattr__").get(), source);
  const auto hook = t.on_class(type, interned(v ? "__setattr__" : "__delattr__").get(), source);
  if (type->tp_setattro != PyObject_GenericSetAttr) {
    // One of the two is object's own, or Tensor's.
    const PyRef own = interned(v ? "__setattr__" : "__delattr__");
    if (hook.found == type_find(&PyBaseObject_Type, own.get()) ||
        (tensor_instance(ValueRef(this)) && hook.found == type_find(tensor_type, own.get())))
      return plain_store(t, name, std::move(v));
    call_store(t, *this, name, v, hook.found, hook.source);
    return;
  }
  plain_store(t, name, std::move(v));
}

static bool has_dict(PyTypeObject* type) {
  return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
}

void ObjectValue::plain_store(Tracer& t, PyObject* name, ValueRef v) {
  if (tensor_instance(ValueRef(this)) && set_tensor_instance_attr(t, *this, name, v)) return;
  PyObject* found = type_find(type, name);
  if (found != found_on_class(t, type, name)) refuse_stored_on_class(t, type, name);
  t.expect_precedence(type, name);
  if (found && is_data_descriptor(found) && Py_TYPE(found) != &PyMemberDescr_Type) {
    PyRef key = interned(v ? "__set__" : "__delete__");
    if (PyObject* set = type_find(Py_TYPE(found), key.get()); set && PyFunction_Check(set)) {
      t.expect_on_class(Py_TYPE(found), key.get(), set);
      CallArgs given{{t.from_object(found, nullptr), ValueRef(this)}, {}};
      if (v) given.positional.push_back(v);
      t.call(t.wrap(set, nullptr), std::move(given));
      return;
    }
    if (Py_TYPE(found)->tp_descr_set != PyProperty_Type.tp_descr_set)
      refuse_store(t, *this, name, "a descriptor implemented in C");
    PyRef set = checked(PyObject_GetAttrString(found, v ? "fset" : "fdel"));
    if (set.get() != Py_None && !PyFunction_Check(set.get()))
      refuse_store(t, *this, name, "a property whose setter is no function");
    if (set.get() == Py_None)
      t.raise(PyExc_AttributeError, std::string("property '") + text_of(name) + "' of '" + type_name(type) +
                                        "' object has no " + (v ? "setter" : "deleter"));
    CallArgs args;
    args.positional = {ValueRef(this)};
    if (v) args.positional.push_back(v);
    t.call(t.wrap(set.get(), nullptr), std::move(args));
    return;
  }
  const bool fixed = found && Py_TYPE(found) == &PyMemberDescr_Type &&
                     (reinterpret_cast<PyMemberDescrObject*>(found)->d_member->flags & READONLY);
  const bool slot = found && Py_TYPE(found) == &PyMemberDescr_Type;
  if (fixed || (!slot && !has_dict(type))) raise_refused_store(t, *this, name, bool(v));
  const Stored* gone = v ? nullptr : stored(name);
  if (gone && !gone->value && breaks_where_raised(t)) graph_break<GB0010>(print(), text_of(name));
  if (!v && !has_own(t, name)) raise_refused_store(t, *this, name, false);
  if (real && !stored(name)) {
    if (const Attr a = find_attr(real.get(), name); a.where == AttrWhere::Slot || a.where == AttrWhere::Instance)
      let_go_of_object(a.value.get());
  }
  Stored* const known = written(name);
  if (known && known->value && !known->value->real) let_go(known->value);
  if (known && !v && !real) {
    attrs.erase(attrs.begin() + (known - attrs.data()));
    places_ = PyRef();
  } else if (known && v && !known->value) {
    attrs.erase(attrs.begin() + (known - attrs.data()));
    places_ = PyRef();
    attrs.push_back({PyRef::borrow(name), v, true});
  } else if (known) {
    known->value = v;
  } else {
    attrs.push_back({PyRef::borrow(name), v});
  }
  if (DictValue* dict = dict_with_factory(*this, name))
    dict->default_factory = v && !is_true_constant(v, Py_None) ? v : ValueRef();
  note_part_stored(this);
  if (!source) return;
  refuse_change_of_pinned(t, *this);
  SideEffect e{v ? EffectKind::AttrSet : EffectKind::AttrDelete, ValueRef(this)};
  e.name = PyRef::borrow(name);
  e.value = std::move(v);
  t.effects.record(std::move(e));
}

ValueRef ObjectValue::special(Tracer& t, const char* name) {
  PyRef key = checked(PyUnicode_InternFromString(name));
  const auto [found, place] = t.on_class(type, key.get(), source);
  if (!found) return {};
  if (binds_as_function(found)) return make_ref<MethodValue>(t.wrap(found, place), ValueRef(this));
  t.expect_on_class(type, key.get(), found);
  PyTypeObject* const kind = Py_TYPE(found);
  const bool native = kind == &PyWrapperDescr_Type || kind == &PyMethodDescr_Type || PyCFunction_Check(found);
  if (found == Py_None || native) return {};
  if (is_object_slot(found)) return plain_attr(t, key.get());  // what the instance keeps there, not bound
  // Binding may run the program's code, which is for the call to do, and not for the question whether there is one.
  const bool binds = kind->tp_descr_get && !binds_like(found, &PyStaticMethod_Type) &&
                     !binds_like(found, &PyClassMethod_Type) && !PyType_Check(found) && !PyMethod_Check(found);
  const bool calls_on = std::string_view(name) == "__call__" && kind != &PyStaticMethod_Type;  // maybe for ever
  if (binds || calls_on) unmodelled(print() + "." + name, "special method that is no function");
  return bind_class_attr(t, found, place, ValueRef(this), t.from_object(reinterpret_cast<PyObject*>(type), nullptr));
}

// The builtin base's method; null: none.
static ValueRef from_base(Tracer& t, ObjectValue& self, const char* name, CallArgs args = {}) {
  return self.payload ? call_base_method(t, self, interned(name).get(), args) : ValueRef();
}

bool ObjectValue::has_native(Tracer& t, const char* name) {
  PyRef key = interned(name);
  PyObject* found = t.on_class(type, key.get(), source).found;
  if (!found || PyFunction_Check(found)) return false;
  t.expect_on_class(type, key.get(), found);
  return found != type_find(&PyBaseObject_Type, key.get());
}

ValueRef ObjectValue::call(Tracer& t, CallArgs args) {
  if (real && source)
    if (ValueRef marked = t.marked_callable(real.get(), source)) return marked->call(t, std::move(args));
  if (ValueRef m = special(t, "__call__")) return t.call(m, std::move(args));
  PyObject* const found = t.on_class(type, interned("__call__").get(), source).found;
  if (found && PyCFunction_Check(found)) return t.call(t.from_object(found, nullptr), std::move(args));  // never bound
  return Value::call(t, std::move(args));
}

ValueRef ObjectValue::get_item(Tracer& t, const ValueRef& key) {
  if (const PyRef generic = is_of_typing(*this) ? type_expression(t, ValueRef(this)) : PyRef())
    if (ValueRef v = subscript_type(t, generic.get(), key)) return v;
  ValueRef m = special(t, "__getitem__");
  if (ValueRef r = m ? ValueRef() : from_base(t, *this, "__getitem__", {{key}, {}})) return r;
  if (!m) return Value::get_item(t, key);
  CallArgs args;
  args.positional.push_back(key);
  return t.call(m, std::move(args));
}

void ObjectValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  const char* name = v ? "__setitem__" : "__delitem__";
  ValueRef m = special(t, name);
  if (m && !t.config.trace_more && tensor_instance(ValueRef(this))) listed_break<GB0103>(std::string(name));
  CallArgs args;
  args.positional.push_back(key);
  if (v) args.positional.push_back(v);
  if (!m && from_base(t, *this, name, args)) return;
  if (!m) return Value::set_item(t, key, v);
  t.call(m, std::move(args));
}

std::optional<std::int64_t> ObjectValue::length(Tracer& t) {
  ValueRef m = special(t, "__len__");
  const bool by_tensor = !m && tensor_instance(ValueRef(this));
  if (!m && payload && !by_tensor) return payload->length(t);
  if (!m && !by_tensor) return Value::length(t);
  ValueRef given = data_of(t.realize(by_tensor ? from_base(t, *this, "__len__") : t.call(m, {})));
  std::int64_t n;
  if (given->kind == ValueKind::Constant && !PyLong_Check(given->real.get()))
    t.raise(PyExc_TypeError, "'" + type_name(given->python_type()) + "' object cannot be interpreted as an integer");
  if (!constant_int(given, n)) unmodelled(print(), "__len__ that gives no constant");
  if (n < 0) t.raise(PyExc_ValueError, "__len__() should return >= 0");
  return n;
}

bool ObjectValue::truth(Tracer& t) {
  for (const char* name : {"__bool__", "__len__"}) {
    ValueRef m = special(t, name);
    if (!m && has_native(t, name)) {
      if (tensor_instance(ValueRef(this))) return t.realize(from_base(t, *this, "__bool__"))->truth(t);
      if (payload) return payload->truth(t);
      unmodelled_method(*this, name);
    }
    if (!m) continue;
    if (name == std::string_view("__len__")) return *length(t) != 0;
    ValueRef r = t.realize(t.call(m, {}));
    if (r->kind != ValueKind::Constant) graph_break<GB0035>(std::string(name), r->print());
    if (!PyBool_Check(r->real.get()))
      t.raise(PyExc_TypeError, "__bool__ should return bool, returned " + type_name(r->python_type()));
    return r->truth(t);
  }
  return true;
}

static bool is_raised(PyTypeObject* type, PyObject* of) {
  return type && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(of));
}

ValueRef ObjectValue::iter(Tracer& t) {
  if (ValueRef m = special(t, "__iter__")) {
    ValueRef it = t.realize(t.call(m, {}));
    if (PyTypeObject* made = it->python_type(); made && !made->tp_iternext)
      t.raise(PyExc_TypeError, "iter() returned non-iterator of type '" + type_name(made) + "'");
    return it;
  }
  if (tensor_instance(ValueRef(this))) return iterate_tensor_instance(t, *this);
  if (payload) {
    const ValueRef it = payload->iter(t);
    if (auto* sequence = as<SequenceIterator>(it)) sequence->owner = ValueRef(this);
    return it;
  }
  if (has_native(t, "__iter__") || !special(t, "__getitem__")) return Value::iter(t);
  return make_ref<FunctionIterator>(
      "UserDefinedObjectVariable(iterator)", &PySeqIter_Type, std::vector<ValueRef>{ValueRef(this)},
      [](Tracer& tr, FunctionIterator& self) -> ValueRef {
        if (self.inner.empty()) return {};  // once it has ended, for good
        try {
          return self.inner[0]->get_item(tr, tr.integer(self.count++));
        } catch (const TracedRaise& e) {
          PyTypeObject* raised = e.exception->python_type();
          if (!is_raised(raised, PyExc_IndexError) && !is_raised(raised, PyExc_StopIteration)) throw;
          self.inner.clear();
          return {};
        }
      });
}

ValueRef ObjectValue::next(Tracer& t) {
  ValueRef returned;
  return advance(t, returned);
}

ValueRef ObjectValue::advance(Tracer& t, ValueRef& returned) {
  ValueRef m = special(t, "__next__");
  if (!m) return Value::next(t);
  try {
    return t.call(m, {});
  } catch (const TracedRaise& e) {
    if (!is_raised(e.exception->python_type(), PyExc_StopIteration)) throw;
    returned = e.exception->get_attr(t, checked(PyUnicode_InternFromString("value")).get());
    return {};
  }
}

bool ObjectValue::contains(Tracer& t, const ValueRef& item) {
  if (ValueRef m = special(t, "__contains__")) {
    CallArgs args;
    args.positional.push_back(item);
    return t.realize(t.call(m, std::move(args)))->truth(t);
  }
  if (tensor_instance(ValueRef(this))) return t.realize(from_base(t, *this, "__contains__", {{item}, {}}))->truth(t);
  if (payload) return payload->contains(t, data_of(t.realize(item)));
  if (has_native(t, "__contains__")) return Value::contains(t, item);
  for (auto& x : collect(t, ValueRef(this)))
    if (values_equal(t, x, item)) return true;
  return false;
}

Reg ObjectValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  if (is_library_class(type, LibraryClass::AutogradContext)) graph_break<GB0019>();
  break_on_listed_escape(*this);
  if (payload && payload->kind == ValueKind::Tensor) return rebuild_tensor_instance(*this, b);
  PlanStep make{StepOp::NewObject};
  if (b.tracer.prototypes.has(type)) {
    make.a = b.load_class(type);
  } else {
    // Weakly, as guards do: a class that the program has made and dropped is to go.
    PlanStep load{StepOp::LoadConst};
    load.object = checked(PyWeakref_NewRef(type_ref.get(), nullptr));
    load.index = 1;
    load.out = make.a = b.plan.registers++;
    b.plan.loads.push_back(std::move(load));
  }
  const bool filled_later = payload && payload->owner == this;
  if (payload && !filled_later) make.regs.push_back(b.rebuild(payload));
  const Reg r = b.step(std::move(make));
  b.remember(this, r);
  if (filled_later) fill_payload(b, r);
  for (auto& s : attrs)
    if (s.value)
      b.fill([&b, r, s, type = type] {
        PlanStep set = b.attribute(r, s.name, s.value);
        PyObject* on_type = type_find(type, s.name.get());
        if (on_type && is_data_descriptor(on_type) && Py_TYPE(on_type) != &PyMemberDescr_Type)
          set.index = kPastDescriptors;
        return set;
      });
  return r;
}

}  // namespace md
