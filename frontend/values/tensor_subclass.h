// Tensors of classes below Tensor: an ObjectValue whose payload is the plain tensor. Calls on them are answered by
// __torch_function__, traced like any other code of the program, or by Tensor's own.
#pragma once

#include <algorithm>

#include "frontend/trace/tracer.h"
#include "frontend/values/objects.h"

namespace md {

// Whether it is a method in C or C++ that instances bind: of a builtin type, or Tensor's own.
bool binds_like_method(PyObject* found);
// The value as an instance of a class below Tensor; null: it is something else.
ObjectValue* tensor_instance(const ValueRef& v);

// A real instance that comes into the trace.
ValueRef wrap_tensor_subclass(Tracer& t, PyObject* o, SourceRef s);
// The tensor as an instance of `type`, which is a class below Tensor: a new object over the same elements.
ValueRef as_tensor_subclass(Tracer& t, const ValueRef& tensor, PyTypeObject* type);
// x.as_subclass(cls): breaks unless the tracer can follow it.
ValueRef cast_to_subclass(Tracer& t, const ValueRef& tensor, const CallArgs& args);
// cls.__new__(cls, tensor), as Tensor has it: breaks for other arguments.
Ref<ObjectValue> new_tensor_instance(Tracer& t, PyTypeObject* type, const CallArgs& args);

// While it lives, a part of the overrides is not asked.
class AsksLess {
 public:
  AsksLess(Tracer& t, Asked left) : t_(t), before_(t.overrides.asked) { t.overrides.asked = std::max(before_, left); }
  ~AsksLess() { t_.overrides.asked = before_; }
  AsksLess(const AsksLess&) = delete;
  AsksLess& operator=(const AsksLess&) = delete;

 private:
  Tracer& t_;
  Asked before_;
};

// The classes with __torch_function__ among the arguments, in the order in which they are asked; what they and the
// innermost mode answer.
std::vector<PyTypeObject*> asked_types(Tracer& t, const CallArgs& args);
ValueRef answer_of_overrides(Tracer& t, const std::vector<PyTypeObject*>& types, const ValueRef& function,
                             const CallArgs& args);
// What modes and classes with __torch_function__ among the arguments answer to function(*args); null: nobody is asked.
ValueRef ask_torch_function(Tracer& t, const ValueRef& function, const CallArgs& args);
// The same for Tensor.<name>: methods and special methods.
ValueRef ask_tensor_method(Tracer& t, const char* name, const CallArgs& args);
// Whether an argument that is no tensor is of a class with a __torch_function__.
bool has_answering_argument(Tracer& t, const CallArgs& args);
// The instances among the arguments (and in lists and tuples among them) become their plain tensors; which these were.
std::vector<ValueRef> strip_subclasses(Tracer& t, CallArgs& args);
// What a call on plain tensors gives: an op in place, or one with nothing to do, gives the instance itself.
ValueRef with_instances(const ValueRef& result, const std::vector<ValueRef>& instances);
// `function` is Tensor.__torch_function__ bound to a class, or _C._disabled_torch_function_impl: what the call gives.
// Null: it is neither.
ValueRef call_default_torch_function(Tracer& t, PyObject* function, const CallArgs& args);
// An attribute of Tensor that is no method, or its __get__, __set__ or __delete__: what overrides are asked about.
bool is_tensor_access(PyObject* o);
// A special method of Tensor, or the __get__ or __set__ of one of its attributes, called as a function; null: it is
// not.
ValueRef call_tensor_slot(Tracer& t, PyObject* function, const CallArgs& args);

// What overrides answer where an attribute of Tensor that is no method is read; null: nobody is asked, or it is a
// method.
ValueRef ask_about_attribute(Tracer& t, const ValueRef& self, PyObject* name);
// An attribute that Tensor has; null: the class or the instance answers like any object.
ValueRef tensor_instance_attr(Tracer& t, ObjectValue& self, PyObject* name);
// Stores one that Tensor has; false: it is none of these.
bool set_tensor_instance_attr(Tracer& t, ObjectValue& self, PyObject* name, const ValueRef& v);
// "__add__", "__radd__", "__iadd__", "__eq__", ...
ValueRef tensor_instance_operator(Tracer& t, const ValueRef& self, const std::string& name, const ValueRef& other);
// A special method of a plain tensor.
ValueRef call_plain_special(Tracer& t, const ValueRef& self, const std::string& name, const CallArgs& args);
// What the innermost mode answers to an operator of plain tensors; null: no mode is active, or neither is a tensor.
ValueRef ask_modes_about_binary(Tracer& t, const ValueRef& a, const ValueRef& b, int number);
ValueRef ask_modes_about_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);
ValueRef tensor_instance_unary(Tracer& t, const ValueRef& self, int op);
// Tensor's method or special method; null: Tensor has none of that name.
ValueRef call_tensor_method(Tracer& t, ObjectValue& self, PyObject* name, CallArgs& args);
ValueRef iterate_tensor_instance(Tracer& t, ObjectValue& self);
Reg rebuild_tensor_instance(ObjectValue& self, PlanBuilder& b);

}  // namespace md
