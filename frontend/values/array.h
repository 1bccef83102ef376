// A NumPy array or scalar of the traced program: the tensor over its memory, and NumPy's meaning of every operation on
// it. What operations do is Python, traced like the program: minidynamo/polyfills/numpy.
#pragma once

#include "frontend/values/tensor.h"

namespace md {

struct ArrayValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Array;
  ArrayValue(Ref<TensorValue> tensor, bool scalar, bool writeable)
      : Value(kKind), tensor(std::move(tensor)), scalar(scalar), writeable(writeable) {}

  std::string print() const override { return "NumpyNdarrayVariable()"; }
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

  // The operation NumPy has under a special name; null: none for these operands.
  ValueRef operate(Tracer& t, const std::string& dunder, std::vector<ValueRef> others);

  Ref<TensorValue> tensor;
  bool scalar;     // float32(1), not an array
  bool writeable;  // NumPy would let the program write to it
  // A slice that goes backward: tensor is a copy, and the array itself comes out as base[key].
  Ref<ArrayValue> base;
  PyRef key;
};

// The array at `source` as an input of the graph.
ValueRef input_array(Tracer& t, PyObject* array, SourceRef source);
// torch.tensor(array) (a copy) or torch.from_numpy(array) of the first argument, with nothing but a dtype beside it.
// Null: it is no array, or NumPy's rules are needed.
ValueRef tensor_of_array(Tracer& t, const CallArgs& args, bool copy);
// What operations on tensors take a NumPy scalar of the program's for: a Python number, which is a constant of the
// code. Anything else itself.
ValueRef scalar_as_number(Tracer& t, const ValueRef& v);
// a + b, a += b, ... where one is an array; breaks where the other is nothing NumPy takes. `dunder`: "add".
ValueRef array_binary(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace);
// op: Py_LT ... Py_GE
ValueRef array_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);

// A function, type or dtype of NumPy that is a constant of the trace.
bool is_numpy_constant(PyObject* o);
// What stands for a call of it. Null: nothing does.
ValueRef call_numpy(Tracer& t, PyObject* callable, CallArgs& args);

}  // namespace md
