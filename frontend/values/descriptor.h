// Properties, static and class methods made while tracing (config.trace_more).
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct ClassValue;

struct DescriptorValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Descriptor;
  DescriptorValue(PyTypeObject* type, std::vector<ValueRef> args) : Value(kKind), type(type), args(std::move(args)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
  PyRef prototype(Tracer& t);  // a real one over stand-ins

  PyTypeObject* type;          // property, staticmethod, classmethod
  std::vector<ValueRef> args;  // the function, or fget, fset, fdel and doc
};

// What calling the class gives if it is one of these; null: it is another class.
ValueRef new_descriptor(Tracer& t, ClassValue& cls, const CallArgs& args);

}  // namespace md
