// Enumerations: their classes are asked as they are, their members are constants that are guarded by identity.
#pragma once

#include "frontend/values/objects.h"

namespace md {

// By what its metaclass holds: asking the class itself might run the program's code.
bool is_enumeration(PyTypeObject* type);
// A real member.
bool is_member(const ValueRef& v);
// What the library's own `value` or `name`, the class attribute `found`, gives; null: it is no such property.
ValueRef member_field(Tracer& t, ObjectValue& member, PyObject* found, PyObject* name);
// The member that `_member_map_` or `_value2member_map_`, the class's `table`, has under the key; null if none.
ValueRef member_of(Tracer& t, ClassValue& cls, const char* table, PyObject* key);
// The member's text as the library's own methods write it; null if the class has others.
PyRef text_of_member(Tracer& t, const ValueRef& v, int conversion, const ValueRef& spec);

}  // namespace md
