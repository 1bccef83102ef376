// Class statements: the body runs as a frame whose names are those of the class.
#include "frontend/builtins/families.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/made_class.h"

namespace md {
namespace {

// __build_class__(body, name, *bases, **keywords) of a class whose metaclass is `type`.
ValueRef rule_build_class(Tracer& t, CallArgs& args) {
  PyRef name = args.positional.size() < 2 ? PyRef() : args[1]->as_constant();
  auto* body = name ? as<FunctionValue>(args[0]) : nullptr;
  if (!t.config.trace_more || !args.keywords.empty() || !body || !PyUnicode_CheckExact(name.get()))
    graph_break<GB0075>();
  std::vector<ValueRef> bases(args.positional.begin() + 2, args.positional.end());
  for (const ValueRef& base : bases) check_base(t, base);
  auto members = make_ref<DictValue>(&PyDict_Type);
  auto frame = t.make_frame(*body, {});
  frame->names = members;
  (void)t.run_nested(std::move(frame));
  return make_class(t, std::move(name), std::move(bases), members);
}

constexpr BuiltinRow kClassRules[] = {{"builtins", "__build_class__", rule_build_class}};

}  // namespace

std::span<const BuiltinRow> class_rules() { return kClassRules; }

}  // namespace md
