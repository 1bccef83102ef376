// An object of a library class whose work Python code does that is traced: a class in minidynamo.polyfills. The program
// sees the library's type; the methods of that class see the parts they keep on it.
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct FunctionValue;

struct PolyfilledValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Polyfilled;
  // type: the library's. code: a class below minidynamo.polyfills; both live as long as the process.
  PolyfilledValue(PyTypeObject* type, PyTypeObject* code) : Value(kKind), type(type), code(code) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  bool truth(Tracer& t) override;
  ValueRef iter(Tracer& t) override;
  ValueRef next(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  // The method of `code`, bound; null if it has none.
  ValueRef method(Tracer& t, const char* name);

  PyTypeObject *type, *code;
  std::vector<std::pair<PyRef, ValueRef>> parts;

 private:
  bool seen_from_inside(Tracer& t);
  ValueRef part(Tracer& t, PyObject* name);
};

// callee(*args) where a row of minidynamo.polyfills.library stands for the callee.
ValueRef call_library(Tracer& t, PyObject* callee, PyObject* row, CallArgs args);
// minidynamo.polyfills.<module>.<function>(*args)
ValueRef call_polyfill(Tracer& t, const std::string& module, const char* function, std::vector<ValueRef> args);
// a + b by __add__ and __radd__ of library objects that have them in Python here; null: neither has. `dunder`: "add".
ValueRef library_operator(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace);
ValueRef wrap_library(Tracer& t, PyObject* o, SourceRef s);
// The polyfill traced instead of a function whose code the table names: its first arguments are the cells it asks for.
// Null if there is none; else `args` is what it is called with.
ValueRef replaced_function(Tracer& t, FunctionValue& function, CallArgs& args);

}  // namespace md
