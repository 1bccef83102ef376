// Attributes that the traced program stores to classes which were there before: `cls.count += 1`. They are kept beside
// the globals it stores and replayed after the graph; until then look-ups on the class see them first.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// cls.name = v, by the metaclass's __setattr__ if it has one. False: no rule for this form.
bool store_on_class(Tracer& t, const Value& cls, PyObject* name, const ValueRef& v);
// The same by type.__setattr__.
bool plain_store_on_class(Tracer& t, const Value& cls, PyObject* name, const ValueRef& v);
// What the mro of `type` has under the name if the trace has stored it; null: what it had before counts.
ValueRef stored_on_class(Tracer& t, PyTypeObject* type, PyObject* name);
// The same as super() in a method of `start` finds it.
ValueRef stored_behind(Tracer& t, PyTypeObject* type, PyTypeObject* start, PyObject* name);
// What the class had when the frame was entered; null also where it was a descriptor that a store has replaced.
PyObject* found_on_class(Tracer& t, PyTypeObject* type, PyObject* name);
// In every call to come no class before `than` in the mro of `type` has the name (interpreter/trace_guards.cpp).
void expect_none_nearer(Tracer& t, PyTypeObject* type, PyObject* name, PyTypeObject* than);
// Somebody looks a name up who does not know of stores.
void refuse_stored_on_class(const Tracer& t, PyTypeObject* type, PyObject* name);

}  // namespace md
