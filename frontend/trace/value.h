// Values: what the symbolic interpreter computes with. (Docs of other systems call this a VariableTracker.)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/guards/source.h"
#include "ir/core/ref.h"

namespace md {

class Tracer;
class PlanBuilder;
struct Value;
using ValueRef = Ref<Value>;
using Reg = int;

struct CallArgs {
  std::vector<ValueRef> positional;
  std::vector<std::pair<PyRef, ValueRef>> keywords;  // name (str), value

  std::size_t size() const { return positional.size() + keywords.size(); }
  // Breaks the graph where there is none: it was given by keyword.
  const ValueRef& operator[](std::size_t i) const { return i < positional.size() ? positional[i] : missing(i); }
  // Removes and returns a keyword argument; null if it was not given.
  ValueRef take_keyword(const char* name);

 private:
  [[noreturn]] static const ValueRef& missing(std::size_t i);
};

enum class ValueKind : std::uint8_t {
  Null,           // a NULL on the stack or an unbound local
  Lazy,           // a real object nobody has looked at yet
  Constant,       // immutable Python constant
  Size,           // an int that is an expression of sizes
  Number,         // a float that is known only at run time
  SizeTest,       // a bool that compares two of them, known only at run time
  DeferredBytes,  // bytes of a known length that are known only at run time
  Tensor,
  Array,  // a NumPy array or scalar
  List,
  Deque,
  Tuple,
  Dict,
  Set,
  Slice,
  Range,
  AttributeDict,  // obj.__dict__
  DictView,
  Iterator,
  FunctionIterator,
  Generator,
  Function,    // Python function, real or made while tracing
  Method,      // bound Python method
  Descriptor,  // a property, static or class method made while tracing
  Cell,
  Builtin,     // builtin function or C-implemented callable
  OpFunction,  // minidynamo.sin, Tensor.sin
  Marked,      // a callable the program asked to treat in its own way: custom ops, allow_in_graph, ...
  Class,
  Module,
  Object,
  Exception,
  BoundAttr,  // a method of a modelled value, not yet called: x.sum, lst.append
  WithExit,   // what `with` keeps of a manager
  Super,
  Context,
  Partial,
  Polyfilled,  // an object of a library class whose work Python code of minidynamo.polyfills does
  Opaque,      // a real object we only pass around
};

struct Value : RefCounted {
  explicit Value(ValueKind kind) : kind(kind) {}
  // Used by Ref instead of the base's: a long chain of values ends without deep recursion. Values are of one thread.
  void release() const noexcept {
    if (use_count() == 1)
      end(this);
    else
      RefCounted::release();
  }

  // As TRACE lines and debug contexts print it: "ConstantVariable(int: 3)".
  virtual std::string print() const = 0;
  // Borrowed; null when unknown.
  virtual PyTypeObject* python_type() const { return nullptr; }
  // The real immutable object this stands for (constants, tuples of constants, functions and classes with a source,
  // ...).
  virtual PyRef as_constant() const { return {}; }
  // Of an object that was not looked at first: what it became when it was. Null for everything else.
  virtual ValueRef realized_as() const { return {}; }

  // Python's protocols. The defaults raise the registry's "no handler" codes.
  virtual ValueRef get_attr(Tracer& t, PyObject* name);
  virtual bool has_attr(Tracer& t, PyObject* name);
  virtual void set_attr(Tracer& t, PyObject* name, ValueRef v);  // v null: delete
  virtual ValueRef call(Tracer& t, CallArgs args);
  virtual ValueRef call_method(Tracer& t, PyObject* name, CallArgs args);  // default: get_attr, then call
  virtual ValueRef get_item(Tracer& t, const ValueRef& key);
  virtual void set_item(Tracer& t, const ValueRef& key, ValueRef v);  // v null: delete
  virtual std::optional<std::int64_t> length(Tracer& t);              // nullopt: has no len()
  virtual ValueRef length_value(Tracer& t);                           // the same as an int value; null: has no len()
  virtual bool truth(Tracer& t);
  virtual ValueRef iter(Tracer& t);
  virtual ValueRef next(Tracer& t);  // null: exhausted
  virtual bool contains(Tracer& t, const ValueRef& item);

  // Emits what rebuilds this value after the graph has run; a value with a source and no change just loads it.
  virtual Reg rebuild(PlanBuilder& b);

  ValueKind kind;
  SourceRef source = nullptr;  // where the real object lives at frame entry; null for values made while tracing
  PyRef real;                  // the real object, when there is one
  Value* owner = nullptr;      // the instance of a subclass of list, dict or set whose content this is

 private:
  static void end(const Value* v) noexcept;
};

// The last part of a type's name, as Python prints it in messages.
std::string type_name(PyTypeObject* type);

template <class T>
T* as(const ValueRef& v) {
  return v && v->kind == T::kKind ? static_cast<T*>(v.get()) : nullptr;
}

}  // namespace md
