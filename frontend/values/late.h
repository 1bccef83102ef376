// Calls that cannot run while tracing and whose results the program only hands on, with config.trace_more: methods in C
// that work on the hidden state of their object (a random generator, a BytesIO), which no traced code can see.
#pragma once

#include "frontend/values/constant.h"

namespace md {

// What such a call gives. As with any value nobody has looked at, it may be stored and returned; looking at it breaks
// the graph.
struct LateValue final : LazyValue {
  // `function(arguments...)`; the object is the first argument.
  LateValue(PyRef function, std::vector<ValueRef> arguments)
      : LazyValue(nullptr, nullptr), function(std::move(function)), arguments(std::move(arguments)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return nullptr; }
  Reg rebuild(PlanBuilder& b) override;

  PyRef function;
  std::vector<ValueRef> arguments;
};

// The call of `function`, found on the class of `self`, noted for the run; null: it is not of this sort, or its
// arguments do not let it.
ValueRef late_call(Tracer& t, PyObject* function, const ValueRef& self, const CallArgs& args);
// Whether a bound method is one of Python's random module that late_call takes.
bool draws_late(const Tracer& t, const ValueRef& method);
// Adds the calls to the plan, before everything else.
void plan_late_calls(PlanBuilder& b);

}  // namespace md
