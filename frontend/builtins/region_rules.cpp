// Operators over functions that become regions of the graph. What is not checked here, their Python code has checked.
#include <algorithm>
#include <array>

#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_text.h"
#include "frontend/marked_callables/cond.h"
#include "frontend/marked_callables/loops.h"
#include "frontend/marked_callables/regions.h"
#include "frontend/values/containers.h"

namespace md {

namespace {

// The arguments by name, null where one that has a default is missing.
template <std::size_t N>
std::array<ValueRef, N> bound(Tracer& t, const std::string& name, CallArgs& args, const char* const (&names)[N],
                              std::size_t required) {
  std::array<ValueRef, N> given;
  if (args.positional.size() > N)
    t.raise(PyExc_TypeError, name + "() takes up to " + std::to_string(N) + " positional arguments");
  std::ranges::copy(args.positional, given.begin());
  for (std::size_t k = 0; k < N; ++k) {
    ValueRef named = args.take_keyword(names[k]);
    if (named && given[k]) t.raise(PyExc_TypeError, name + "() got multiple values for argument '" + names[k] + "'");
    if (named) given[k] = t.realize(named);
    if (!given[k] && k < required) t.raise(PyExc_TypeError, name + "() missing required argument: '" + names[k] + "'");
  }
  if (!args.keywords.empty())
    t.raise(PyExc_TypeError,
            name + "() got an unexpected keyword argument '" + text_of(args.keywords[0].first.get()) + "'");
  return given;
}

PyRef named_in(const char* module, const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module(module)).get(), name));
}

// Whether the value differs from example to example of a call of vmap that is being traced.
bool differs_by_example(Tracer& t, const ValueRef& raw) {
  if (t.graphs.transforms.empty()) return false;
  const ValueRef v = t.realize(raw);
  if (v->kind != ValueKind::Tensor) return false;
  const ValueRef levels = t.call(t.from_object(named_in("minidynamo._C", "_batch_levels").get(), nullptr), {{v}, {}});
  auto* numbers = as<TupleValue>(levels);
  return numbers && !numbers->items.empty();
}

ValueRef rule_cond(Tracer& t, CallArgs& args) {
  auto given = bound(t, "cond", args, {"pred", "true_fn", "false_fn", "operands"}, 3);
  if (!given[3]) given[3] = make_ref<TupleValue>(std::vector<ValueRef>{});
  if (differs_by_example(t, given[0])) {
    const PyRef both = named_in("minidynamo._higher_order_ops.cond", "for_each_example");
    return t.call(t.from_object(both.get(), nullptr), {{given[0], given[1], given[2], given[3]}, {}});
  }
  return trace_cond(t, given[0], given[1], given[2], given[3]);
}

ValueRef rule_while_loop(Tracer& t, CallArgs& args) {
  const auto given = bound(t, "while_loop", args, {"cond_fn", "body_fn", "carried_inputs"}, 3);
  return trace_while_loop(t, given[0], given[1], given[2]);
}

ValueRef rule_scan(Tracer& t, CallArgs& args) {
  expect_args(t, "scan", args, 3, 3);
  return trace_scan(t, args[0], args[1], args[2]);
}

ValueRef rule_region_map(Tracer& t, CallArgs& args) {
  const std::vector<ValueRef> more(args.positional.begin() + 2, args.positional.end());
  return trace_map(t, args[0], args[1], more, SharedResults::Refused);
}

// As what vmap() gives: a function may hand back its argument.
ValueRef rule_each_row(Tracer& t, CallArgs& args) {
  expect_args(t, "each_row", args, 2, 2);
  return trace_map(t, args[0], args[1], {}, SharedResults::Copied);
}

// wrap(f, *args, **kwargs): the call, which changes nothing outside.
ValueRef rule_wrap(Tracer& t, CallArgs& args) {
  if (args.positional.empty()) t.raise(PyExc_TypeError, "wrap() missing required argument: 'func'");
  ValueRef function = args[0];
  args.positional.erase(args.positional.begin());
  return call_without_effects(t, function, std::move(args));
}

// hints_wrapper(body_fn, args, kwargs, *, hints): the same, as a whole or not at all.
ValueRef rule_hints_wrapper(Tracer& t, CallArgs& args) {
  const auto given = bound(t, "hints_wrapper", args, {"body_fn", "args", "kwargs", "hints"}, 0);
  auto* named = given[2] ? as<DictValue>(given[2]) : nullptr;
  const bool listed = given[1] && (given[1]->kind == ValueKind::Tuple || given[1]->kind == ValueKind::List);
  expect(t, given[0] && listed && named && given[3], "hints_wrapper",
         "it takes a function, a tuple of arguments, a dict of keyword arguments, and hints by keyword");
  CallArgs call{collect(t, given[1]), {}};
  for (auto& e : named->live()) call.keywords.emplace_back(e.key->as_constant(), e.value);
  return trace_inlined(t, "hints_wrapper", given[0], std::move(call), InlineRule::NoEffects);
}

// call(operator, plain, functions, args) of compiled_calls.py: in a trace there is nothing more to compile.
ValueRef rule_call(Tracer& t, CallArgs& args) {
  expect_args(t, "call", args, 4, 4);
  return t.call(args[0], CallArgs{collect(t, args[3]), {}});
}

// strict_mode(f, operands): part of the graph as a whole, without effects.
ValueRef rule_strict_mode(Tracer& t, CallArgs& args) {
  const auto given = bound(t, "strict_mode", args, {"callable", "operands"}, 2);
  std::vector<ValueRef> operands = collect(t, given[1]);
  for (ValueRef& v : operands) {
    v = t.realize(v);
    const bool nested = v->kind == ValueKind::List || v->kind == ValueKind::Tuple || v->kind == ValueKind::Dict;
    expect(t, !nested, "strict_mode", "operands should hold no containers, but one is " + v->print());
  }
  expect(t, can_call(given[0]), "strict_mode", "callable should be a function, but it is " + given[0]->print());
  return trace_inlined(t, "strict_mode", given[0], CallArgs{std::move(operands), {}}, InlineRule::NoEffects);
}

constexpr BuiltinRow kRegionRules[] = {
    {"minidynamo._higher_order_ops.compiled_calls", "call", rule_call},
    {"minidynamo._higher_order_ops.cond", "cond", rule_cond},
    {"minidynamo._higher_order_ops.while_loop", "while_loop", rule_while_loop},
    {"minidynamo._higher_order_ops.scan", "scan_rows", rule_scan},
    {"minidynamo._higher_order_ops.map", "map_rows", rule_region_map},
    {"minidynamo._higher_order_ops.map", "each_row", rule_each_row},
    {"minidynamo._higher_order_ops.strict_mode", "strict_mode", rule_strict_mode},
    {"minidynamo._higher_order_ops.wrap", "wrap", rule_wrap},
    {"minidynamo._higher_order_ops.hints_wrap", "hints_wrapper", rule_hints_wrapper}};

}  // namespace

std::span<const BuiltinRow> region_rules() { return kRegionRules; }

}  // namespace md
