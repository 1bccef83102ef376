// Backward functions run as plain Python. One whose code names what is forbidden is traced once on fake gradients; that
// trace is thrown away.
#include "frontend/builtins/backward_probe.h"

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/marked_callables/reachable.h"
#include "frontend/marked_callables/scratch_graph.h"
#include "frontend/report/graph_break.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/objects.h"
#include "frontend/values/strict_backward.h"

namespace md {

static bool mentions_forbidden(PyObject* cls) {
  const PyRef module = checked(import_module("minidynamo.autograd.strict_names"));
  const Disarmed plain;
  return checked(PyObject_IsTrue(checked(PyObject_CallMethod(module.get(), "mentioned_by", "O", cls)).get()));
}

void probe_backward(Tracer& t, const ValueRef& cls, const ValueRef& ctx, const ValueRef& outputs) {
  auto* of = as<ClassValue>(t.realize(cls));
  auto* given = as<TupleValue>(t.realize(outputs));
  if (!of || !given || of->made || !mentions_forbidden(of->real.get())) return;
  const std::size_t effects = t.effects.list().size();
  const ReachableState before(t, {ctx});
  const auto spoilt = [&] { return t.effects.list().size() != effects || before.has_changed(); };
  {
    ScratchGraph scratch(t);
    const StrictBackward strict;
    CallArgs args{{ctx}, {}};
    for (const ValueRef& v : given->items)
      args.positional.push_back(t.realize(v)->kind == ValueKind::Tensor ? scratch.fake(v) : t.none());
    try {
      (void)t.call(of->get_attr(t, checked(PyUnicode_InternFromString("backward")).get()), std::move(args));
    } catch (const GraphBreak& b) {
      if (b.code == break_rows()[GB0068].code || b.code == break_rows()[GB0102].code) throw;
    } catch (const TracedRaise&) {  // for the backward pass itself to raise
    } catch (const OpError&) {
    }
  }
  // What the thrown-away trace has changed cannot be taken back.
  if (spoilt()) unmodelled(of->print(), "a backward function that changes objects of the program");
}

}  // namespace md
