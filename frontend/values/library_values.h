// Objects of C classes whose state never changes, or is a dictionary's: devices, sizes, dates, read-only views.
#pragma once

#include "frontend/values/objects.h"

namespace md {

// torch.device("cpu"), torch.Size([2]), timedelta(1), MappingProxyType(d); null: a class of another kind, or arguments
// that only a run knows.
ValueRef new_library_value(Tracer& t, ClassValue& cls, const CallArgs& args);
// A mappingproxy that existed before the trace, of a dictionary.
ValueRef wrap_mapping_proxy(Tracer& t, PyObject* proxy, SourceRef s);
// dict.keys(), values() or items() of before the trace; null: it is none, or of a subclass.
ValueRef wrap_dict_view(Tracer& t, PyObject* view, SourceRef s);

}  // namespace md
