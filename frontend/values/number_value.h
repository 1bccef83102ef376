// A Python number that only a run knows: read from a tensor by the graph, or computed by the plan before the graph
// runs. Docs of other systems call it a SymFloat, or an unspecialised number.
#pragma once

#include "frontend/trace/value.h"
#include "ir/graph/graph.h"

namespace md {

struct NumberValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Number;
  // A float read from a tensor: a 0-d tensor in the graph, which counts as a number there.
  explicit NumberValue(Node* node) : Value(kKind), node(node) {}
  // What `function` of these numbers gives, of this exact type: float, int or bool.
  NumberValue(PyTypeObject* type, PyRef function, std::vector<ValueRef> operands)
      : Value(kKind), type(type), of_plan(true), function(std::move(function)), operands(std::move(operands)) {}
  // A number drawn by `call`.
  NumberValue(PyTypeObject* type, Value* call) : Value(kKind), type(type), of_plan(true), drawn(true), call(call) {}

  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  PyRef as_constant() const override;
  bool truth(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;

  Node* node = nullptr;  // null: the graph has not asked for it yet
  PyTypeObject* type = &PyFloat_Type;
  bool of_plan = false;
  bool drawn = false;  // from a random generator, or made of such a number
  PyRef function;
  std::vector<ValueRef> operands;
  Value* call = nullptr;      // which keeps this value
  SourceRef input = nullptr;  // of the graph, once there is a node
};

// `v`, looked at or not, as a number of the plan; null: it is none.
NumberValue* plan_number(const ValueRef& v);
// The number in the graph: an input, if the plan computes it.
Node* graph_number(Tracer& t, NumberValue& n);
// function(args...) where a number of the plan is among the arguments: one more of them. Breaks the graph where drawn
// numbers do not go through such a function. Null: no such number, or nothing is known of the function.
ValueRef call_on_numbers(Tracer& t, PyObject* function, const CallArgs& args);
// The same for the operator `name` of module operator.
ValueRef number_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands);
// A tensor of numbers, in lists or not, some of which are numbers of the plan; null: none of them is, or something is
// none.
ValueRef tensor_of_numbers(Tracer& t, const CallArgs& args);
// Ints of the plan among the arguments as sizes and positions that the graph finds out. False: there are none.
bool numbers_as_sizes(Tracer& t, std::vector<Arg>& args, KwArgs& kwargs);
// Breaks the graph where a drawn number is asked for by an operator of Python's.
void break_on_drawn(const std::string& name, const std::vector<ValueRef>& operands);
// Notes which registers of the plan hold the numbers the graph takes.
void plan_graph_numbers(PlanBuilder& b);

}  // namespace md
