// A method or attribute taken off a modelled value and not yet called: `x.sum`, `lst.append`, `"a".join`.
#pragma once

#include "frontend/value.h"

namespace md {

struct BoundAttrValue final : Value {
  static constexpr ValueKind kKind = ValueKind::BoundAttr;
  BoundAttrValue(ValueRef self, PyRef name) : Value(kKind), self(std::move(self)), name(std::move(name)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override;
  ValueRef call(Tracer& t, CallArgs args) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef self;
  PyRef name;
};

}  // namespace md
