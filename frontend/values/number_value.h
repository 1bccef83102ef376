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
  // The float at `place`, which may be another one in other calls.
  NumberValue(Tracer& t, SourceRef place, PyRef now) : Value(kKind), of_plan(true), hint(std::move(now)), tracer(&t) {
    source = place;
  }
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
  PyRef hint;                 // the number while tracing; null: of a drawn one
  Tracer* tracer = nullptr;   // where there is a hint
  SourceRef input = nullptr;  // of the graph, once there is a node
  bool of_element = false;    // at the source is a tensor without dimensions that holds it
};

// A float of an input that is no constant of the trace; null: it is one.
ValueRef dynamic_float(Tracer& t, PyObject* value, SourceRef source);
// `v`, looked at or not, as a number of the plan; null: it is none.
NumberValue* plan_number(const ValueRef& v);
// The number in the graph: an input, if the plan computes it.
Node* graph_number(Tracer& t, NumberValue& n);
// tensor(x), and without `copy` as_tensor(x), of one tensor; null: there are other arguments.
ValueRef tensor_of_tensor(Tracer& t, const CallArgs& args, bool copy);
// A tensor of numbers, in lists or not, some of which are numbers of the plan or tensors without dimensions; null: none
// of them is, or something is none.
ValueRef tensor_of_numbers(Tracer& t, const CallArgs& args);
// Numbers of the plan among the arguments where the op takes none of the graph: what is known while tracing becomes a
// constant, a drawn int a size or position that the graph finds out. False: there are none.
bool settle_numbers(Tracer& t, std::vector<Arg>& args, KwArgs& kwargs);
// Notes which registers of the plan hold the numbers the graph takes.
void plan_graph_numbers(PlanBuilder& b);

}  // namespace md
