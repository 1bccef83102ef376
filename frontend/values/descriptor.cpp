// Calls property, staticmethod and classmethod in a trace, and rebuilds them.
#include "frontend/values/descriptor.h"

#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/made_class.h"

namespace md {

namespace {

constexpr const char* kPropertyParts[] = {"fget", "fset", "fdel", "doc"};
constexpr const char* kPropertySetters[] = {"getter", "setter", "deleter"};

// The arguments of property() in order, None for those not given.
std::vector<ValueRef> property_parts(Tracer& t, CallArgs args) {
  std::vector<ValueRef> parts;
  for (std::size_t i = 0; i < std::size(kPropertyParts); ++i) {
    ValueRef named = args.take_keyword(kPropertyParts[i]);
    if (named && i < args.positional.size()) unmodelled("property", "an argument given twice");
    parts.push_back(named ? named : i < args.positional.size() ? args.positional[i] : t.none());
  }
  if (!args.keywords.empty() || args.positional.size() > parts.size()) unmodelled("property", "other arguments");
  return parts;
}

}  // namespace

ValueRef new_descriptor(Tracer& t, ClassValue& cls, const CallArgs& given) {
  PyTypeObject* type = cls.type();
  const bool wraps = type == &PyStaticMethod_Type || type == &PyClassMethod_Type;
  if (!t.config.trace_more || (!wraps && type != &PyProperty_Type)) return {};
  CallArgs args = given;
  for (auto& v : args.positional) v = t.realize(v);
  for (auto& [name, v] : args.keywords) v = t.realize(v);
  if (!wraps) return make_ref<DescriptorValue>(type, property_parts(t, std::move(args)));
  if (args.positional.size() != 1 || !args.keywords.empty() || !as<FunctionValue>(args[0])) return {};
  return make_ref<DescriptorValue>(type, std::move(args.positional));
}

std::string DescriptorValue::print() const { return "UserDefinedObjectVariable(" + type_name(type) + ")"; }

PyRef DescriptorValue::prototype(Tracer& t) {
  PyRef parts = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool is_function = as<FunctionValue>(args[i]) != nullptr;
    PyRef part = is_function ? stand_in(t, args[i]) : args[i]->as_constant();
    if (!part || (!is_function && !is_constant_object(part.get()))) unmodelled(print(), "property of other callables");
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), part.release());
  }
  return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(type), parts.get()));
}

ValueRef DescriptorValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (type == &PyProperty_Type) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (n == kPropertyParts[i]) return args[i];
      if (n == kPropertySetters[i]) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
    }
  } else if (n == "__func__" || n == "__wrapped__") {
    return args[0];
  }
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
  unmodelled(print() + "." + n, "attribute of a descriptor made while tracing");
}

ValueRef DescriptorValue::call_method(Tracer& t, PyObject* name, CallArgs given) {
  const std::string n = text_of(name);
  for (std::size_t i = 0; i < 3 && type == &PyProperty_Type; ++i) {
    if (n != kPropertySetters[i] || given.positional.size() != 1 || !given.keywords.empty()) continue;
    std::vector<ValueRef> parts = args;
    parts[i] = t.realize(given[0]);
    return make_ref<DescriptorValue>(type, std::move(parts));
  }
  return Value::call_method(t, name, std::move(given));
}

ValueRef DescriptorValue::call(Tracer& t, CallArgs given) {
  if (type != &PyStaticMethod_Type) return Value::call(t, std::move(given));
  return t.call(args[0], std::move(given));
}

Reg DescriptorValue::rebuild(PlanBuilder& b) {
  PlanStep make{StepOp::Call};
  make.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  for (const ValueRef& v : args) make.regs.push_back(b.rebuild(v));
  return b.step(std::move(make));
}

}  // namespace md
