// Attributes of an OrderedDict, which has a dictionary of them beside its items: `state._metadata = ...`.
#pragma once

#include "frontend/trace/value.h"

namespace md {

bool store_on_dict(Tracer& t, Value& self, PyObject* name, const ValueRef& v);  // false: no rule for this form
ValueRef attribute_of_dict(Tracer& t, Value& self, PyObject* name);             // null: it has none of this name

}  // namespace md
