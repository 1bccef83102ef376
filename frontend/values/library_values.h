// Objects of C classes whose state never changes, or is a dictionary's: devices, sizes, dates, read-only views.
#pragma once

#include "frontend/values/objects.h"

namespace md {

// torch.device("cpu"), torch.Size([2]), timedelta(1), MappingProxyType(d); null: a class of another kind, or arguments
// that only a run knows.
ValueRef new_library_value(Tracer& t, ClassValue& cls, const CallArgs& args);
// Breaks at a view that existed before the trace where the registry lists it: keys that are no literals, changed dicts.
void break_on_listed_view(Tracer& t, PyObject* o);
// A mappingproxy, dict.keys(), values() or items() that existed before the trace, of a dictionary.
ValueRef wrap_listed_view(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
