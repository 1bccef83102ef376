// Keys whose class has a __hash__ or __eq__ of its own in Python: both are traced, and of keys that are equal there is
// one stand-in, which hashes as they do.
#pragma once

#include "frontend/trace/value.h"

namespace md {

PyRef hashed_key(Tracer& t, const ValueRef& key);
PyRef weak_reference_key(Tracer& t, const ValueRef& key);  // null: it is no weak reference
bool is_hashed_stand_in(PyObject* key);

}  // namespace md
