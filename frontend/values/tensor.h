// A tensor of the traced program: a graph node and what is known of it.
#pragma once

#include "frontend/trace/value.h"
#include "ir/graph/graph.h"

namespace md {

struct TensorValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Tensor;
  TensorValue(Node* node, TensorType type) : Value(kKind), node(node), type(std::move(type)) {}

  std::string print() const override { return "TensorVariable()"; }
  PyTypeObject* python_type() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  bool has_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  ValueRef length_value(Tracer& t) override;
  bool truth(Tracer& t) override;
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
  ValueRef call_dunder(Tracer& t, const std::string& name, CallArgs args);

  const ValueRef* note(PyObject* name) const;
  // A write made it require grad, or not.
  void set_grad_state(GradState s);

  ValueRef set_grad;                              // what the trace has assigned to `grad`, if anything
  std::vector<std::pair<PyRef, ValueRef>> notes;  // attributes of no meaning to tensors that the trace has assigned
  Node* node;                                     // the latest one: an in-place op moves it on
  TensorType type;
  // Of a tensor whose calls its class's __torch_dispatch__ answers: one of that class over zeros, which is asked in its
  // place while tracing (handled_values.h). Null for others.
  TensorRef stand_in;
  bool of_instance = false;  // of a class below Tensor: its source leads to the instance, and this is the plain tensor
};

// Assigns an attribute that tensors do not have, which Python puts into the instance's dictionary. False: it is none.
bool keeps_note(Tracer& t, TensorValue& self, PyObject* name, const ValueRef& v);
// Whether the value of x.data = v is traced; it is then what x is.
bool takes_data(Tracer& t, TensorValue& self, TensorValue& v);
bool is_inplace_view(const std::string& method);  // "unsqueeze_", "t_", ...

}  // namespace md
