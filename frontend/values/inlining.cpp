// Modules of the standard library are entered by a list, to which config.trace_more adds four.
#include "frontend/values/inlining.h"

#include <string_view>

#include "frontend/trace/tracer.h"

namespace md {

bool may_inline(const Tracer& t, const FunctionValue& f) {
  if (may_inline(f)) return true;
  if (!t.config.trace_more || !f.real || has_attribute(f.real.get(), "_torchdynamo_disable")) return false;
  const std::string_view module = f.module_name();
  for (const char* open : {"random", "copy", "pickle", "inspect"})
    if (module == open) return true;
  return false;
}

}  // namespace md
