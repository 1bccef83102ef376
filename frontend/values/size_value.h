// A Python int that is an expression of input sizes and int arguments: x.shape[0], 2 * n. Docs of other systems call it
// a SymInt.
#pragma once

#include "frontend/trace/value.h"
#include "ir/sizes/size.h"

namespace md {

struct SizeValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Size;
  explicit SizeValue(Size size) : Value(kKind), size(size) {}

  std::string print() const override { return "SymNodeVariable()"; }
  PyTypeObject* python_type() const override;
  // The value while tracing, which becomes an assumption: the expression is that number in every later call.
  PyRef as_constant() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  bool has_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  bool truth(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;

  Size size;  // never constant
};

// lhs < rhs and the like, where a symbol has no value while tracing. Branching on it breaks the graph.
struct SizeTestValue final : Value {
  static constexpr ValueKind kKind = ValueKind::SizeTest;
  SizeTestValue(Size lhs, Size rhs, int op) : Value(kKind), lhs(lhs), rhs(rhs), op(op) {}

  std::string print() const override { return "SymNodeVariable()"; }
  PyTypeObject* python_type() const override;
  PyRef as_constant() const override;
  bool truth(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;

  Size lhs, rhs;
  int op;  // Py_LT ... Py_GE
};

// A number where the expression is one, else a SizeValue.
ValueRef size_value(Tracer& t, Size s);
// `v` as a size: a SizeValue or an int constant of 64 bits. False: something else.
bool as_size(const ValueRef& v, Size& out);
// `a` or `b` is a SizeValue and the operation stays in size arithmetic; null: use the constants.
ValueRef size_binary(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& name);
// op: Py_LT ... Py_GE. Null: not two sizes.
ValueRef size_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);
// Somewhere inside tuples and lists there is a SizeValue.
bool holds_size(const ValueRef& v);

// An int of an input that is a symbol (trace/dynamic_sizes.h); null: it is a constant of the trace.
ValueRef dynamic_int(Tracer& t, PyObject* value, SourceRef source);

}  // namespace md
