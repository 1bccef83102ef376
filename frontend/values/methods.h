// Methods of builtin containers: one block each in list_methods.cpp, dict_methods.cpp, ...
#pragma once

#include <span>

#include "frontend/trace/tracer.h"

namespace md {

using MethodRule = ValueRef (*)(Tracer& t, Value& self, CallArgs& args);
struct MethodRow {
  ValueKind kind;
  const char* name;
  MethodRule rule;
};

// Takes up a family of methods, while the package is imported.
void add_methods(std::span<const MethodRow> family);
// self.name(args) by the rows; GB0156 when there is none.
ValueRef call_builtin_method(Tracer& t, ValueRef self, PyObject* name, CallArgs args);
// self.name: a BoundAttrValue if the type has such a method, else AttributeError in the traced program.
ValueRef method_attr(Tracer& t, Value* self, PyObject* name);

struct DictValue;
// dict(x), d.update(x): from a dict or from pairs.
void fill_dict(Tracer& t, DictValue& d, const ValueRef& from);
struct ListValue;
// list.extend(x), l += x
void extend_list(Tracer& t, ListValue& list, const ValueRef& from);
// What `reverse` of sorted() and list.sort() says; may be null.
bool reverse_order(Tracer& t, const ValueRef& reverse);
// list.sort and sorted.
std::vector<ValueRef> sorted_values(Tracer& t, std::vector<ValueRef> items, const ValueRef& key, bool reverse);
bool less_than(Tracer& t, const ValueRef& a, const ValueRef& b);

}  // namespace md
