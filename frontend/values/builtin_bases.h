// Instances of classes made below list, dict, tuple, set, int, float, str, ...: an ObjectValue whose `payload` is what
// the builtin base holds. The class's own methods come first, the payload answers for the rest.
#pragma once

#include "frontend/values/objects.h"

namespace md {

struct DictValue;

// The C type that lays out instances of `type`; object itself for classes without such a base.
PyTypeObject* layout_base(PyTypeObject* type);
// An exception with these `args`. Its class's own __new__ and __init__ do not run: the trace ran them.
PyRef new_exception(PyTypeObject* type, const PyRef& args);
// Instances of it can be modelled with a payload.
bool is_data_base(PyTypeObject* base);
bool is_defaultdict(PyTypeObject* type);  // the library's class itself
// The factory of a real defaultdict, read where the C struct has it.
void read_factory(Tracer& t, DictValue& dict, PyObject* o, SourceRef s);
// What an instance of a class below defaultdict holds, where `name` is that of its factory; null: of anything else.
DictValue* dict_with_factory(const ObjectValue& o, PyObject* name);
// Nothing on a class of named tuples takes the place of what operators and the interpreter ask tuples for.
bool is_usual_namedtuple(Tracer& t, PyTypeObject* type);
// base.__new__(cls, *args): a fresh instance, not initialised.
Ref<ObjectValue> new_with_data(Tracer& t, PyTypeObject* type, const CallArgs& args);
// A real instance with its payload; null if its class has no such base.
ValueRef wrap_with_data(Tracer& t, PyObject* o, SourceRef s);
// The method `name` of the builtin base, called on the instance; null if the base has none of its own.
ValueRef call_base_method(Tracer& t, ObjectValue& self, PyObject* name, CallArgs& args);
// `data` <name> `other`, as the builtin type of `data` answers: NotImplemented where it does not know the other.
ValueRef data_operator(Tracer& t, const ValueRef& data, const std::string& name, const ValueRef& other);
// The same for an instance: an operation in place gives the instance.
ValueRef base_operator(Tracer& t, ObjectValue& self, const std::string& name, const ValueRef& other);
// What operators and formatting of the builtin base see: the payload of such an instance, anything else itself.
ValueRef data_of(const ValueRef& v);
// The int that stands for an object where a position or a number of times is wanted: its payload, or what its __index__
// gives. Anything else itself.
ValueRef index_value(Tracer& t, const ValueRef& v);
// dict.fromkeys of a class below dict that inherits it: what calling the class gives, the keys put in. Null: of
// another.
ValueRef inherited_fromkeys(Tracer& t, PyObject* function, CallArgs& args);

}  // namespace md
