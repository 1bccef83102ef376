// Immutable Python constants, the NULL of the stack, and objects nobody has looked at yet.
#pragma once

#include "frontend/cpython/object_text.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/trace/value.h"

namespace md {

struct NullValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Null;
  NullValue() : Value(kKind) {}
  std::string print() const override { return "NullVariable"; }
  Reg rebuild(PlanBuilder& b) override;
};
ValueRef null_value();
inline bool is_null(const ValueRef& v) { return !v || v->kind == ValueKind::Null; }

// A load records nothing; the first use realizes it, which records guards.
struct LazyValue : Value {
  static constexpr ValueKind kKind = ValueKind::Lazy;
  LazyValue(PyObject* object, SourceRef s) : Value(kKind) {
    real = PyRef::borrow(object);
    source = s;
  }
  std::string print() const override { return realized ? realized->print() : "LazyVariableTracker()"; }
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  ValueRef realized_as() const override { return realized; }
  Reg rebuild(PlanBuilder& b) override;
  ValueRef realized;
};

struct ConstantValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Constant;
  explicit ConstantValue(PyRef object) : Value(kKind) { real = std::move(object); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  bool truth(Tracer& t) override;
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
};

bool is_true_constant(const ValueRef& v, PyObject* singleton);  // v is that very object
bool constant_int(const ValueRef& v, std::int64_t& out);        // int or bool
bool constant_str(const ValueRef& v, std::string& out);
// A Python object made by folding: constants, and fresh lists, tuples, dicts, sets, ranges and slices of them.
ValueRef from_folded(Tracer& t, PyObject* o);
// The same of what a call on constants gave; breaks where that is a new mutable object: a trace has only one of it.
ValueRef from_result(Tracer& t, PyObject* o);
// Every argument as a constant, or false.
bool all_constant(const CallArgs& args, std::vector<PyRef>& positional, PyRef& kwargs);

}  // namespace md
