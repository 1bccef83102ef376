// Everything that can be called: Python functions, bound methods, builtins, tensor ops; and the cells functions close
// over.
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct CellValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Cell;
  CellValue() : Value(kKind) {}
  std::string print() const override { return "CellVariable()"; }
  PyTypeObject* python_type() const override { return &PyCell_Type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef get(Tracer& t);  // null: empty
  void set(Tracer& t, ValueRef v);
  Reg rebuild(PlanBuilder& b) override;
  ValueRef content;     // after the first look or store
  bool looked = false;  // content is current
  bool stored = false;
};

struct DictValue;

struct FunctionValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Function;
  FunctionValue() : Value(kKind) {}
  std::string print() const override { return real ? "UserFunctionVariable()" : "NestedUserFunctionVariable()"; }
  PyTypeObject* python_type() const override { return &PyFunction_Type; }
  PyRef as_constant() const override { return closure.empty() ? real : PyRef(); }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  bool has_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
  ValueRef real_attr(Tracer& t, PyObject* name);
  // Its keyword defaults as a dictionary the program has looked at or given; null: nobody has.
  DictValue* keyword_dictionary(const Tracer& t) const;
  const char* module_name() const;  // of its globals; "" if unknown
  std::string file_name() const;

  PyRef code, globals, builtins, qualname;
  SourceRef parts = nullptr;                           // of a real function: what its defaults and names hang on
  std::vector<ValueRef> defaults;                      // of the last positional parameters
  std::vector<std::pair<PyRef, ValueRef>> kwdefaults;  // until there is a dictionary
  ValueRef keyword_dict;
  bool defaults_stored = false, keywords_stored = false;  // the trace has set __defaults__, __kwdefaults__
  std::vector<Ref<CellValue>> closure;
  ValueRef annotations;                           // a dict, or names and values in turn
  std::vector<std::pair<PyRef, ValueRef>> attrs;  // set while tracing, on a function made while tracing
  PyRef overridable;  // the callable of the library around it, which overrides are asked about (overridable_function.h)

 private:
  ValueRef made_attr(Tracer& t, PyObject* name);  // of a function made while tracing; null if it has none
  bool set_part(Tracer& t, const std::string& name, const ValueRef& v);  // false: no part of what a call does
};

struct MethodValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Method;
  MethodValue(ValueRef function, ValueRef self) : Value(kKind), function(std::move(function)), self(std::move(self)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return &PyMethod_Type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  bool has_attr(Tracer& t, PyObject* name) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
  ValueRef function, self;
};

// A builtin function, builtin type or library function the tracer knows a rule for, or a C function it does not.
struct BuiltinValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Builtin;
  explicit BuiltinValue(PyRef object) : Value(kKind) { real = std::move(object); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;  // list[int]
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
};

struct OpFunctionValue final : Value {
  static constexpr ValueKind kKind = ValueKind::OpFunction;
  explicit OpFunctionValue(PyRef object) : Value(kKind) { real = std::move(object); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;

 private:
  ValueRef call_plain(Tracer& t, CallArgs args);
};

// functools.partial, real or made while tracing.
struct PartialValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Partial;
  PartialValue(ValueRef function, CallArgs args) : Value(kKind), function(std::move(function)), args(std::move(args)) {}
  std::string print() const override { return "FunctoolsPartialVariable()"; }
  PyTypeObject* python_type() const override;
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call(Tracer& t, CallArgs more) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
  CallArgs joined(Tracer& t, CallArgs more);  // its own arguments and those of a call
  ValueRef function;
  CallArgs args;

 private:
  void read_keywords(Tracer& t);
  ValueRef keywords_;  // the dict, once the program has asked for it and may change it
};

// Breaks as the registry says for a function the tracer has no rule for and may not enter.
[[noreturn]] void break_on_skipped(Tracer& t, PyObject* callable);
// Functions of the libraries that break by themselves, whoever calls them.
void break_if_known(Tracer& t, const FunctionValue& f, const CallArgs& args);
// By compiler.disable().
void break_if_disabled(const FunctionValue& f);
// It may be traced into.
bool may_inline(const FunctionValue& f);

}  // namespace md
