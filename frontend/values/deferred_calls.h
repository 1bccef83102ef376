// Calls that cannot run while tracing: methods that work on the hidden state of their object, which no traced code can
// see. Numbers drawn by random.randint, randrange and uniform go into the graph, or are handed on; with
// config.trace_more, so do those of the other methods, and what a BytesIO gives.
#pragma once

#include "frontend/values/constant.h"
#include "ir/sizes/size.h"

namespace md {

// An io.BytesIO that was there at the frame's entry: where it stands by now and how many bytes are left, as expressions
// of what it was then. Guards on these are guards on the frame's input.
struct StreamFacts {
  ValueRef stream;
  Size at, left;
};

// What such a call gives. As with any value nobody has looked at, it may be stored and returned; looking at it breaks
// the graph, unless more than the call is known: then `realized` says what.
struct DeferredCall final : LazyValue {
  // `function(arguments...)`, the last of them named by `names`; the object is the first argument.
  DeferredCall(PyRef function, std::vector<ValueRef> arguments, PyRef names = {})
      : LazyValue(nullptr, nullptr),
        function(std::move(function)),
        arguments(std::move(arguments)),
        names(std::move(names)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override { return nullptr; }
  Reg rebuild(PlanBuilder& b) override;

  PyRef function;
  std::vector<ValueRef> arguments;
  PyRef names;  // a tuple of str, or null
  bool may_fail = false;
  bool draws = false;  // from a generator, which is the first argument
};

// Bytes that `call` gives, of a known length.
struct DeferredBytes final : Value {
  static constexpr ValueKind kKind = ValueKind::DeferredBytes;
  DeferredBytes(DeferredCall& call, Size size) : Value(kKind), call(call), size(size) {}
  std::string print() const override { return call.print(); }
  PyTypeObject* python_type() const override { return &PyBytes_Type; }
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  std::optional<std::int64_t> length(Tracer& t) override;
  ValueRef length_value(Tracer& t) override;
  bool truth(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override { return call.rebuild(b); }

  DeferredCall& call;  // the trace keeps it
  Size size;
};

// The call of `function`, found on the class of `self`, noted for the run; null: it is not of this sort, or its
// arguments do not let it.
ValueRef defer_call(Tracer& t, PyObject* function, const ValueRef& self, const CallArgs& args);
// struct.unpack() of bytes that only a run knows: a tuple of such numbers; null: another call.
ValueRef deferred_items(Tracer& t, PyObject* function, const CallArgs& args);
// Whether a bound method is one of Python's random module that defer_call takes: it is called like a function then.
bool is_deferred_draw(const Tracer& t, const ValueRef& method);
// Adds the calls to the plan, before everything else.
void plan_deferred_calls(PlanBuilder& b);

}  // namespace md
