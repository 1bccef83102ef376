// Modules that say `torchdynamo_force_dynamic = False`: they are not to change, and what their own `__getattribute__`
// gives has to be traceable.
#pragma once

#include "frontend/cpython/object_attr.h"
#include "frontend/values/objects.h"

namespace md {

bool is_pinned(Tracer& t, const ObjectValue& o);
bool finds_attributes_itself(const ObjectValue& o);  // its class has a __getattribute__ in Python
// What object.__getattribute__ finds in an instance, whatever its class has in its place.
Attr attr_past_getattribute(PyObject* o, PyObject* name);
// What a pinned module's own `__getattribute__` gives.
ValueRef pinned_attribute(Tracer& t, ObjectValue& module, const ValueRef& getattribute, PyObject* name);
// Breaks before a key is looked for in the __dict__ of a pinned module that finds attributes itself.
void refuse_dict_of_pinned(Tracer& t, const ObjectValue& module, const ValueRef& key);
// Breaks before a pinned module that was there at the frame's entry changes.
void refuse_change_of_pinned(Tracer& t, const ObjectValue& module);

}  // namespace md
