// A method or attribute taken off a modelled value and not yet called: `x.sum`, `lst.append`, `"a".join`.
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct BoundAttrValue final : Value {
  static constexpr ValueKind kKind = ValueKind::BoundAttr;
  BoundAttrValue(ValueRef self, PyRef name) : Value(kKind), self(std::move(self)), name(std::move(name)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override;
  ValueRef get_attr(Tracer& t, PyObject* attr) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef self;
  PyRef name;
};

// Null where reading it raises AttributeError.
ValueRef attribute_or_null(Tracer& t, const ValueRef& v, PyObject* name);

// What a class has under the name is a method: reading it through an instance gives something to call.
bool is_method(PyObject* found);

// The bound __exit__ of a manager, on the stack while its `with` block runs.
struct WithExitValue final : Value {
  static constexpr ValueKind kKind = ValueKind::WithExit;
  explicit WithExitValue(ValueRef exit) : Value(kKind), exit(std::move(exit)) {}
  std::string print() const override { return "WithExitFunctionVariable()"; }
  ValueRef call(Tracer& t, CallArgs args) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef exit;
};

// The name of an attribute as getattr() and its kin are given it, interned. Breaks the graph for what is no constant
// str.
PyRef attr_name(const ValueRef& v, const std::string& object = "", const std::string& fallback = "None");

}  // namespace md
