// Dispatch of traced calls to __torch_function__, and what Tensor itself answers for instances of classes below it.
#include "frontend/values/tensor_subclass.h"

#include <algorithm>

#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/handled_values.h"
#include "frontend/values/object_slots.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {

PyObject* tensor_class() { return reinterpret_cast<PyObject*>(tensor_type); }

// The innermost mode, off the stack while it answers.
class AnsweringMode {
 public:
  explicit AnsweringMode(Tracer& t) : t_(t) {
    if (!t.overrides.asks_modes()) return;
    mode_ = t.overrides.modes.back();
    t.overrides.modes.pop_back();
  }
  ~AnsweringMode() {
    if (mode_) t_.overrides.modes.push_back(mode_);
  }
  AnsweringMode(const AnsweringMode&) = delete;
  AnsweringMode& operator=(const AnsweringMode&) = delete;
  const ValueRef& get() const { return mode_; }

 private:
  Tracer& t_;
  ValueRef mode_;
};

// The value itself and, one level down, what lists and tuples hold.
template <class F>
void for_each_candidate(Tracer& t, ValueRef& raw, F&& f) {
  raw = t.realize(raw);
  auto* list = as<ListValue>(raw);
  auto* tuple = as<TupleValue>(raw);
  if (!list && !(tuple && tuple->python_type() == &PyTuple_Type)) return f(raw);
  if (tuple) (void)tuple->length(t);
  for (ValueRef& item : list ? list->items : as<TupleValue>(raw)->items) f(item = t.realize(item));
}

// The class that has to be asked for the value, if one has.
PyTypeObject* asked_type(Tracer& t, const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  if (!o) return nullptr;
  PyObject* const answer = t.on_class(o->type, interned("__torch_function__").get(), o->source).found;
  if (is_default_torch_function(answer) && class_has_handler(o->type)) return nullptr;  // asked below, by operator
  return answer && answer != Py_None && !is_disabled_torch_function(answer) ? o->type : nullptr;
}

bool leaves_to_tensor(Tracer& t, PyTypeObject* type) {
  return is_default_torch_function(t.on_class(type, interned("__torch_function__").get()).found);
}

}  // namespace

// Classes below others come before them, else from left to right, each once.
std::vector<PyTypeObject*> asked_types(Tracer& t, const CallArgs& args) {
  std::vector<PyTypeObject*> types;
  const auto add = [&](const ValueRef& v) {
    PyTypeObject* const type = asked_type(t, v);
    if (!type || std::ranges::find(types, type) != types.end()) return;
    const auto above = std::ranges::find_if(types, [&](PyTypeObject* o) { return PyType_IsSubtype(type, o); });
    types.insert(above, type);
  };
  for (ValueRef v : args.positional) for_each_candidate(t, v, add);
  for (auto [name, v] : args.keywords) for_each_candidate(t, v, add);
  return types;
}

namespace {

ValueRef class_value(Tracer& t, PyTypeObject* type) {
  return t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
}

// Of the arguments the instance over this very tensor: an op in place returns what it was called on.
ValueRef instance_over(Tracer& t, const ValueRef& tensor, const CallArgs& args) {
  ValueRef found;
  const auto look = [&](const ValueRef& v) {
    ObjectValue* const o = tensor_instance(v);
    if (o && o->payload == tensor) found = v;
  };
  for (ValueRef v : args.positional) for_each_candidate(t, v, look);
  for (auto [name, v] : args.keywords) for_each_candidate(t, v, look);
  return found;
}

// Tensors in a result become instances of `type`.
ValueRef converted(Tracer& t, const ValueRef& raw, PyTypeObject* type, const CallArgs& args) {
  const ValueRef v = t.realize(raw);
  if (v->kind == ValueKind::Tensor) {
    if (ValueRef same = instance_over(t, v, args)) return same;
    return as_tensor_subclass(t, v, type);
  }
  if (ObjectValue* o = tensor_instance(v)) {
    return PyType_IsSubtype(o->type, type) ? v : as_tensor_subclass(t, o->payload, type);
  }
  const auto all = [&](const std::vector<ValueRef>& items) {
    std::vector<ValueRef> made;
    for (const ValueRef& item : items) made.push_back(converted(t, item, type, args));
    return made;
  };
  if (auto* list = as<ListValue>(v)) return make_ref<ListValue>(all(list->items));
  auto* tuple = as<TupleValue>(v);
  if (!tuple) return v;
  std::vector<ValueRef> made = all(tuple->items);
  if (made == tuple->items) return v;
  return make_ref<TupleValue>(std::move(made), tuple->python_type());
}

ValueRef plain_call(Tracer& t, const ValueRef& function, CallArgs args) {
  const AsksLess modes_only(t, Asked::Modes);
  return t.call(function, std::move(args));
}

// Tensor.__torch_function__ of `cls`.
ValueRef default_answer(Tracer& t, PyTypeObject* cls, const ValueRef& function, const CallArgs& args) {
  ValueRef result = plain_call(t, function, args);
  if (cls == tensor_type || is_unconverted(function->real.get())) return result;
  return converted(t, result, cls, args);
}

[[noreturn]] void no_answer(const ValueRef& function, const CallArgs& args) {
  graph_break<GB0000>(function->real ? repr_of(function->real.get()) : function->print(), print_list(args.positional),
                      print_keywords(args));
}

ValueRef keyword_dict(Tracer& t, const CallArgs& args) {
  auto keywords = make_ref<DictValue>(&PyDict_Type);
  for (auto& [name, v] : args.keywords) keywords->put(t, t.constant(name), v);
  return keywords;
}

}  // namespace

bool binds_like_method(PyObject* found) {
  return Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type || is_op_function(found) ||
         is_overridable_function(found);
}

ObjectValue* tensor_instance(const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  return o && o->payload && o->payload->kind == ValueKind::Tensor ? o : nullptr;
}

ValueRef wrap_tensor_subclass(Tracer& t, PyObject* o, SourceRef s) {
  if (!has_normal_getattribute(Py_TYPE(o)) && !has_getattr_hook(Py_TYPE(o)))
    unmodelled("TensorWithTFOverrideVariable()", "tensor subclass with its own __getattribute__");
  auto self = make_ref<ObjectValue>(Py_TYPE(o));
  const ValueRef tensor = t.input_tensor(o, s);
  static_cast<TensorValue&>(*tensor).of_instance = true;
  self->payload = tensor;
  self->source = s;
  self->real = PyRef::borrow(o);
  if (class_has_handler(Py_TYPE(o))) take_stand_in(t, *self, o);
  return self;
}

ValueRef as_tensor_subclass(Tracer&, const ValueRef& tensor, PyTypeObject* type) {
  auto self = make_ref<ObjectValue>(type);
  self->payload = tensor;
  return self;
}

ValueRef cast_to_subclass(Tracer& t, const ValueRef& tensor, const CallArgs& args) {
  const ValueRef given =
      args.size() == 1 ? t.realize(args.positional.empty() ? args.keywords[0].second : args[0]) : ValueRef();
  auto* cls = as<ClassValue>(given);
  if (!cls) graph_break<GB0001>(tensor->print(), given ? given->print() : print_list(args.positional));
  PyTypeObject* const type = cls->type();
  const bool by_name = cls->source && cls->source->kind != SourceKind::TypeOf;
  const bool below = type != tensor_type && PyType_IsSubtype(type, tensor_type);
  // A class whose instances answer no calls, as nn.Parameter, is none for a program to cast to in a graph.
  const PyRef handler = checked(PyUnicode_InternFromString("__torch_function__"));
  if (below && !t.config.trace_more && !is_in_library(t) && is_disabled_torch_function(type_find(type, handler.get())))
    graph_break<GB0001>(tensor->print(), repr_of(reinterpret_cast<PyObject*>(type)));
  if (!(type == tensor_type && t.config.trace_more) && (!below || (!by_name && !t.config.trace_more)))
    graph_break<GB0001>(tensor->print(), repr_of(reinterpret_cast<PyObject*>(type)));
  return type == tensor_type ? tensor : as_tensor_subclass(t, tensor, type);
}

Ref<ObjectValue> new_tensor_instance(Tracer& t, PyTypeObject* type, const CallArgs& args) {
  const ValueRef data = args.size() == 1 && args.keywords.empty() ? t.realize(args[0]) : ValueRef();
  ObjectValue* const instance = data ? tensor_instance(data) : nullptr;
  if (!data || (!instance && data->kind != ValueKind::Tensor)) {
    graph_break<GB0026>(repr_of(reinterpret_cast<PyObject*>(type)), print_list(args.positional), print_keywords(args));
  }
  auto self = make_ref<ObjectValue>(type);
  self->payload = instance ? instance->payload : data;
  return self;
}

namespace {

// The answer of classes that leave everything to Tensor, of which one has to be below all others; null: none is asked.
ValueRef tensors_answer(Tracer& t, const std::vector<PyTypeObject*>& types, const ValueRef& function,
                        const CallArgs& args) {
  if (types.empty()) return {};
  const auto below_all = [&](PyTypeObject* type) {
    return std::ranges::all_of(types, [&](PyTypeObject* other) { return PyType_IsSubtype(type, other); });
  };
  const auto lowest = std::ranges::find_if(types, below_all);
  if (lowest == types.end()) no_answer(function, args);
  return default_answer(t, *lowest, function, args);
}

}  // namespace

ValueRef answer_of_overrides(Tracer& t, const std::vector<PyTypeObject*>& types, const ValueRef& function,
                             const CallArgs& args) {
  const AnsweringMode mode(t);
  const bool plain = std::ranges::all_of(types, [&](PyTypeObject* type) { return leaves_to_tensor(t, type); });
  if (plain && !mode.get()) return tensors_answer(t, types, function, args);
  std::vector<ValueRef> classes;
  for (PyTypeObject* type : types) classes.push_back(class_value(t, type));
  const auto answer_of = [&](const ValueRef& who) {
    CallArgs given;
    given.positional = {function, make_ref<TupleValue>(classes), make_ref<TupleValue>(args.positional),
                        keyword_dict(t, args)};
    const ValueRef handler = t.realize(who)->get_attr(t, interned("__torch_function__").get());
    const ValueRef answer = t.realize(t.call(handler, std::move(given)));
    return is_true_constant(answer, Py_NotImplemented) ? ValueRef() : answer;
  };
  if (mode.get())
    if (ValueRef answer = answer_of(mode.get())) return answer;
  for (const ValueRef& cls : classes)
    if (ValueRef answer = answer_of(cls)) return answer;
  no_answer(function, args);
}

ValueRef ask_torch_function(Tracer& t, const ValueRef& function, const CallArgs& args) {
  const std::vector<PyTypeObject*> types =
      t.overrides.asks_subclasses() ? asked_types(t, args) : std::vector<PyTypeObject*>();
  return types.empty() && !t.overrides.asks_modes() ? ValueRef() : answer_of_overrides(t, types, function, args);
}

ValueRef ask_tensor_method(Tracer& t, const char* name, const CallArgs& args) {
  if (t.overrides.asked == Asked::None) return {};
  return ask_torch_function(t, t.from_object(type_find(tensor_type, interned(name).get()), nullptr), args);
}

std::vector<ValueRef> strip_subclasses(Tracer& t, CallArgs& args) {
  std::vector<ValueRef> instances;
  const auto plain = [](const ValueRef& v) {
    ObjectValue* const o = tensor_instance(v);
    return o ? o->payload : v;
  };
  const auto strip = [&](ValueRef& raw) {
    const std::size_t before = instances.size();
    for_each_candidate(t, raw, [&](const ValueRef& v) {
      if (tensor_instance(v)) instances.push_back(v);
    });
    if (instances.size() == before) return;
    auto* list = as<ListValue>(raw);
    auto* tuple = as<TupleValue>(raw);
    if (!list && !tuple) {
      raw = plain(raw);
      return;
    }
    std::vector<ValueRef> items;
    for (const ValueRef& item : list ? list->items : tuple->items) items.push_back(plain(item));
    raw = list ? ValueRef(make_ref<ListValue>(std::move(items))) : ValueRef(make_ref<TupleValue>(std::move(items)));
  };
  for (ValueRef& v : args.positional) strip(v);
  for (auto& [name, v] : args.keywords) strip(v);
  return instances;
}

ValueRef with_instances(const ValueRef& result, const std::vector<ValueRef>& instances) {
  for (const ValueRef& v : instances)
    if (tensor_instance(v)->payload == result) return v;
  return result;
}

ValueRef call_default_torch_function(Tracer& t, PyObject* function, const CallArgs& args) {
  PyTypeObject* cls = class_of_default_torch_function(function);
  CallArgs left = args;
  if (is_default_torch_function(function)) {  // not bound: the class comes first
    auto* given = args.positional.empty() ? nullptr : as<ClassValue>(t.realize(args[0]));
    if (!given) return {};
    cls = given->type();
    left.positional.erase(left.positional.begin());
  } else if (!cls && !is_disabled_torch_function(function)) {
    return {};
  }
  ValueRef parts[4];
  static constexpr const char* kNames[] = {"func", "types", "args", "kwargs"};
  for (std::size_t i = 0; i < 4; ++i) {
    parts[i] = i < left.positional.size() ? left.positional[i] : left.take_keyword(kNames[i]);
    if (parts[i]) parts[i] = t.realize(parts[i]);
  }
  if (!parts[0] || !parts[1]) unmodelled("__torch_function__", "call without a function or types");
  CallArgs call;
  if (parts[2]) call.positional = collect(t, parts[2]);
  if (auto* keywords = parts[3] ? as<DictValue>(parts[3]) : nullptr) {
    keywords->observe_keys(t);
    for (auto& e : keywords->live()) call.keywords.emplace_back(e.key->as_constant(), e.value);
  }
  if (!cls) return plain_call(t, parts[0], std::move(call));
  for (const ValueRef& type : collect(t, parts[1])) {
    auto* known = as<ClassValue>(t.realize(type));
    if (!known) unmodelled("__torch_function__", "types that are not known");
    if (!PyType_IsSubtype(cls, known->type())) return t.constant(Py_NotImplemented);
  }
  return default_answer(t, cls, parts[0], call);
}

bool is_tensor_access(PyObject* o) {
  const bool bound = is_method_wrapper(o);
  const PyRef attribute = bound ? checked(PyObject_GetAttrString(o, "__self__")) : PyRef::borrow(o);
  return Py_TYPE(attribute.get()) == &PyGetSetDescr_Type &&
         reinterpret_cast<PyDescrObject*>(attribute.get())->d_type == tensor_type;
}

// A gradient keeps its class; other attributes of Tensor take what is below.
static ValueRef as_assigned(PyObject* name, const ValueRef& given, const ValueRef& plain) {
  return text_of(name) == "grad" ? given : plain;
}

ValueRef call_tensor_slot(Tracer& t, PyObject* function, const CallArgs& args) {
  if (args.positional.empty() || !args.keywords.empty()) return {};
  const bool access = is_method_wrapper(function) && is_tensor_access(function);
  const PyRef attribute = access ? checked(PyObject_GetAttrString(function, "__self__")) : PyRef();
  const bool slot =
      Py_TYPE(function) == &PyWrapperDescr_Type && reinterpret_cast<PyDescrObject*>(function)->d_type == tensor_type;
  if (!slot && !access) return {};
  const ValueRef callee = make_ref<BuiltinValue>(PyRef::borrow(function));
  if (ValueRef answer = ask_torch_function(t, callee, args)) return answer;
  CallArgs plain = args;
  const PyRef name = checked(PyObject_GetAttrString(slot ? function : attribute.get(), "__name__"));
  const std::string special = text_of(name.get());
  if (slot && (special == "__setattr__" || special == "__delattr__") && tensor_instance(args.positional[0])) {
    plain.positional.erase(plain.positional.begin());
    for (ValueRef& v : plain.positional) v = t.realize(v);
    return call_object_slot(t, t.realize(args.positional[0]), special, plain);
  }
  const std::vector<ValueRef> instances = strip_subclasses(t, plain);
  ValueRef self = plain.positional[0];
  if (self->kind != ValueKind::Tensor) return {};
  plain.positional.erase(plain.positional.begin());
  if (slot) return with_instances(call_plain_special(t, self, text_of(name.get()), plain), instances);
  const PyRef how = checked(PyObject_GetAttrString(function, "__name__"));
  if (text_of(how.get()) == "__get__") return self->get_attr(t, name.get());
  const bool sets = text_of(how.get()) == "__set__";
  self->set_attr(t, name.get(),
                 sets ? as_assigned(name.get(), args.positional.at(1), plain.positional.at(0)) : ValueRef());
  return t.none();
}

namespace {

bool is_inlined(PyObject* found) {
  return PyFunction_Check(found) || Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyClassMethod_Type;
}

}  // namespace

ValueRef ask_about_attribute(Tracer& t, const ValueRef& self, PyObject* name) {
  PyObject* const found = own_attribute(tensor_type, name);
  if (!found || Py_TYPE(found) != &PyGetSetDescr_Type || text_of(name) == "__dict__") return {};
  const PyRef get = checked(PyObject_GetAttrString(found, "__get__"));
  return ask_torch_function(t, make_ref<BuiltinValue>(get), CallArgs{{self}, {}});
}

ValueRef tensor_instance_attr(Tracer& t, ObjectValue& self, PyObject* name) {
  const std::string n = text_of(name);
  PyObject* const of_tensor = own_attribute(tensor_type, name);
  if (!of_tensor || n == "__class__" || n == "__dict__" || n == "__init__") return {};
  PyObject* const found = t.on_class(self.type, name, self.source).found;
  if (found != of_tensor) {
    if (found && is_inlined(found)) return {};
    graph_break<GB0164>(n);
  }
  if (std::ranges::find(kUnconverted, n) != std::end(kUnconverted) && t.overrides.asks_subclasses() &&
      asked_type(t, ValueRef(&self)))
    graph_break<GB0163>(n);
  PyTypeObject* const kind = Py_TYPE(found);
  if (kind == &PyGetSetDescr_Type) {
    if (ValueRef answer = ask_about_attribute(t, ValueRef(&self), name)) return answer;
    return self.payload->get_attr(t, name);
  }
  if (binds_like_method(found) || PyFunction_Check(found))
    return make_ref<MethodValue>(t.realize(t.from_object(found, nullptr)), ValueRef(&self));
  return {};
}

bool set_tensor_instance_attr(Tracer& t, ObjectValue& self, PyObject* name, const ValueRef& v) {
  if (is_inner_tensor(self, name))  // calls that follow would be of what it was
    unmodelled(self.print() + "." + text_of(name), "an inner tensor of a wrapper subclass is replaced");
  PyObject* const found = t.on_class(self.type, name, self.source).found;
  if (!found || found != own_attribute(tensor_type, name) || Py_TYPE(found) != &PyGetSetDescr_Type) return false;
  if (text_of(name) == "__dict__") return false;
  const PyRef set = checked(PyObject_GetAttrString(found, v ? "__set__" : "__delete__"));
  CallArgs args{{ValueRef(&self)}, {}};
  if (v) args.positional.push_back(v);
  if (!ask_torch_function(t, make_ref<BuiltinValue>(set), args)) {
    (void)strip_subclasses(t, args);
    self.payload->set_attr(t, name, v ? as_assigned(name, v, args.positional[1]) : ValueRef());
  }
  return true;
}

Reg rebuild_tensor_instance(ObjectValue& self, PlanBuilder& b) {
  const auto made = [&] {
    const Reg tensor = b.rebuild(self.payload);
    if (as<TensorValue>(self.payload)->stand_in) return tensor;  // the handler has made it of this class
    PlanStep cast{StepOp::Call};
    cast.a = b.load_constant(checked(PyObject_GetAttrString(tensor_class(), "as_subclass")));
    cast.regs = {tensor, b.load_class(self.type)};
    return b.step(std::move(cast));
  };
  const Reg r = made();
  b.remember(&self, r);
  for (auto& s : self.attrs)
    if (s.value) b.fill([&b, r, s] { return b.attribute(r, s.name, s.value); });
  return r;
}

}  // namespace md
