// Instances of user classes, classes, modules, exceptions, super(), and real objects that are only passed around.
#pragma once

#include <memory>

#include "frontend/bytecode/split.h"
#include "frontend/report/placed_frames.h"
#include "frontend/trace/value.h"
#include "ir/graph/graph.h"

namespace md {

struct ObjectValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Object;
  explicit ObjectValue(PyTypeObject* type);
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  bool truth(Tracer& t) override;
  ValueRef iter(Tracer& t) override;
  ValueRef next(Tracer& t) override;
  ValueRef advance(Tracer& t, ValueRef& returned);  // next(); at the end what StopIteration carries
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  // The Python-level special method of the class, bound; null if the class has none (object's do not count).
  ValueRef special(Tracer& t, const char* name);
  // The class has the method, and not from object, but it is nothing the tracer can call: code of a C base, None.
  bool has_native(Tracer& t, const char* name);
  void plain_store(Tracer& t, PyObject* name, ValueRef v);  // object.__setattr__
  ValueRef plain_attr(Tracer& t, PyObject* name);           // object.__getattribute__
  bool has_own(Tracer& t, PyObject* name);
  ValueRef instance_dict(Tracer& t);
  void fill_payload(PlanBuilder& b, Reg instance);

  struct Stored {
    PyRef name;
    ValueRef value;      // null: deleted
    bool again = false;  // stored after it had been deleted: it comes last
  };
  const Stored* stored(PyObject* name) const { return const_cast<ObjectValue*>(this)->written(name); }

  PyTypeObject* type;
  PyRef type_ref;
  Value* attribute_dict = nullptr;  // its __dict__, once asked for; kept alive by the tracer
  ValueRef payload;                 // what a builtin base of the class holds (values/builtin_bases.h)
  std::vector<Stored> attrs;        // written while tracing, in order of first write

 private:
  Stored* written(PyObject* name);
  static constexpr std::size_t kFew = 8;  // looked through one by one
  PyRef places_;                          // dict of name: place in `attrs`, where there are more; null: to be made
};

struct MadeClass;  // values/made_class.h

struct ClassValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Class;
  explicit ClassValue(PyRef type) : Value(kKind) { real = std::move(type); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(real.get()); }
  PyRef as_constant() const override { return made ? PyRef() : real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  bool truth(Tracer& t) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  ValueRef iter(Tracer& t) override;  // enums
  bool contains(Tracer& t, const ValueRef& item) override;
  ValueRef meta_special(Tracer& t,
                        const char* name);        // a method of a metaclass in Python, bound; null if there is none
  ValueRef type_attr(Tracer& t, PyObject* name);  // what a descriptor of `type` gives
  ValueRef meta_attr(Tracer& t, PyObject* name);
  ValueRef find_member(Tracer& t, const ValueRef& value);
  ValueRef subscripted(Tracer& t, const ValueRef& key);
  Reg rebuild(PlanBuilder& b) override;
  std::shared_ptr<MadeClass> made;  // by a class statement of the trace: `real` is its prototype
};

// A global of a module other than that of the traced function, by its name.
void store_in_module(Tracer& t, PyObject* globals, PyObject* name, ValueRef v);

struct ModuleValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Module;
  explicit ModuleValue(PyRef module) : Value(kKind) { real = std::move(module); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  bool has_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef missing_attr(Tracer& t, PyObject* name);
  PyObject* outranking(Tracer& t, PyObject* name);
  Reg rebuild(PlanBuilder& b) override;
};

struct ExceptionValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Exception;
  ExceptionValue(PyTypeObject* type, std::vector<ValueRef> args);
  std::string print() const override;
  PyTypeObject* python_type() const override { return type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;
  PyTypeObject* type;
  PyRef type_ref;
  std::vector<ValueRef> args;
  ValueRef cause, context;
  bool suppress_context = false;
  PlacedFrames raised_at;     // where it was raised last
  long traceback = 0;         // a number for the one that a real one would have; 0: none
  ValueRef message, members;  // of a group, for ever
  std::vector<std::pair<PyRef, ValueRef>> attrs;

 private:
  ValueRef builtin_field(Tracer& t, PyObject* name);
  ValueRef add_note(Tracer& t, const ValueRef& note);
};

struct SuperValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Super;
  SuperValue(PyTypeObject* start, ValueRef self) : Value(kKind), start(start), self(std::move(self)) {}
  std::string print() const override { return "SuperVariable()"; }
  PyTypeObject* python_type() const override { return &PySuper_Type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  PyTypeObject* start;
  ValueRef self;
};

struct OpaqueValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Opaque;
  explicit OpaqueValue(PyRef object) : Value(kKind) { real = std::move(object); }
  std::string print() const override;
  PyTypeObject* python_type() const override { return Py_TYPE(real.get()); }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  void set_attr(Tracer& t, PyObject* name, ValueRef v) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef next(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;
};

// Managers of the library: grad mode, nullcontext, error_on_graph_break.
enum class ContextKind : std::uint8_t { GradMode, Null, BreakPolicy, Overrides, Autocast };
struct ContextValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Context;
  ContextValue(ContextKind which, PyRef cls, std::vector<ValueRef> args)
      : Value(kKind), which(which), cls(std::move(cls)), args(std::move(args)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override {
    return PyType_Check(cls.get()) ? reinterpret_cast<PyTypeObject*>(cls.get()) : nullptr;
  }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call(Tracer& t, CallArgs args) override;  // as a decorator
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  Reg rebuild(PlanBuilder& b) override;
  void enter(Tracer& t);
  void exit(Tracer& t);
  OpenContext reopened(int stack_index) const;  // the class and constants a resume function enters it with
  ContextKind which;
  PyRef cls;                                 // no_grad, set_grad_enabled, nullcontext, ...
  std::vector<ValueRef> args;                // constants
  bool target = false;                       // grad mode inside
  bool outer = false;                        // grad mode to go back to
  bool at_once = false;                      // set_grad_enabled: the mode changed when it was made
  ValueRef region;                           // autocast: the mode, once entered
  std::uint8_t asked = 0, asked_before = 0;  // overrides: `Asked` inside, and outside
};

// The class a value is, or else the constant: for rules that ask it and keep nothing of it.
PyRef class_object(const ValueRef& v);
// type.__call__(cls, ...), and base.__new__(cls, ...) of a base that C implements.
ValueRef instantiate(Tracer& t, ClassValue& cls, CallArgs args);
ValueRef new_instance(Tracer& t, ClassValue& cls, const CallArgs& args);
// The class of what a builtin exception class makes of its arguments, which it is asked where that depends on them:
// OSError looks for the class of an error number, some others take only arguments of certain types.
PyTypeObject* type_of_exception(Tracer& t, ClassValue& cls, const std::vector<ValueRef>& args);
// What a class of exception groups makes: BaseExceptionGroup makes an ExceptionGroup of nothing but exceptions.
Ref<ExceptionValue> new_group(Tracer& t, ClassValue& cls, const std::vector<ValueRef>& args);
// `except wanted` catches exceptions of this type.
bool is_caught(Tracer& t, const ValueRef& wanted, PyTypeObject* type);
// What the Python __get__ of a descriptor found on a class gives; null: its type has none.
ValueRef python_get(Tracer& t, PyObject* found, const ValueRef& self, const ValueRef& cls);
// A method of a builtin type, which classes bind.
bool is_wrapped_method(PyObject* found);

// What a class-level attribute gives when read through an instance (`self` set) or the class itself.
ValueRef bind_class_attr(Tracer& t, PyObject* found, SourceRef found_source, const ValueRef& self, const ValueRef& cls);

}  // namespace md
