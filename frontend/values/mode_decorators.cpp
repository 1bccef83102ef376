// Python code of this package makes the decorated function, and is traced.
#include "frontend/values/mode_decorators.h"

#include "frontend/cpython/import_module.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

ValueRef decorated_in_mode(Tracer& t, const Value& v, const CallArgs& args) {
  const auto* manager = v.kind == ValueKind::Context ? static_cast<const ContextValue*>(&v) : nullptr;
  if (!manager || manager->which != ContextKind::GradMode || manager->at_once) return {};
  if (args.positional.size() != 1 || !args.keywords.empty()) return {};
  const ValueRef given = t.realize(args.positional[0]);
  const auto* function = as<FunctionValue>(given);
  if (!function || !function->code) return {};
  // The mode of a generator is switched each time it goes on.
  constexpr int kStops = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if (reinterpret_cast<PyCodeObject*>(function->code.get())->co_flags & kStops) return {};
  const PyRef module = checked(import_module("minidynamo.autograd.in_mode"));
  const PyRef decorate = checked(PyObject_GetAttrString(module.get(), "decorated_in_trace"));
  CallArgs call{{given, t.from_object(manager->cls.get(), nullptr), make_ref<TupleValue>(manager->args)}, {}};
  return t.call(t.from_object(decorate.get(), nullptr), std::move(call));
}

}  // namespace md
