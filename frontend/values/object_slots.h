// The slots of `object` itself, which traced code reaches through super() or by the class.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// object.__init__, object.__setattr__, dict.__getitem__ ... reached through super() or the class; null if not one of
// them.
ValueRef call_object_slot(Tracer& t, const ValueRef& self, const std::string& name, CallArgs& args);

}  // namespace md
