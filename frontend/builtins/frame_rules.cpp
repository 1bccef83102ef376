// What a program asks of its own frames: the exception being handled, the frames themselves.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/guards/state.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

namespace md {

namespace {

// (class, exception, traceback) of the exception that is being handled.
ValueRef rule_exc_info(Tracer& t, CallArgs& args) {
  expect_args(t, "exc_info", args, 0, 0);
  if (ValueRef e = t.handled_exception()) {
    if (e->kind != ValueKind::Exception) return {};
    return make_ref<TupleValue>(
        std::vector<ValueRef>{t.from_object(reinterpret_cast<PyObject*>(e->python_type()), nullptr), e,
                              e->get_attr(t, checked(PyUnicode_InternFromString("__traceback__")).get())});
  }
  if (!nothing_handled_outside(t)) return {};
  return make_ref<TupleValue>(std::vector<ValueRef>{t.none(), t.none(), t.none()});
}

// The exception that is being handled.
ValueRef rule_exception(Tracer& t, CallArgs& args) {
  expect_args(t, "exception", args, 0, 0);
  if (ValueRef e = t.handled_exception()) return e->kind == ValueKind::Exception ? e : ValueRef();
  return nothing_handled_outside(t) ? t.none() : ValueRef();
}

// A frame object outlives the call: it is to be that of the whole function.
ValueRef rule_getframe(Tracer& t, CallArgs&) {
  GraphBreak b = make_break<GB0007_builtin>("sys", "_getframe", "it gives a frame", "sys._getframe");
  b.looks_at_frame = !wants_globals_only(t.frame().code.get());
  throw b;
}

// locals(): the variables that are set, in the order of their slots. Null: the frame is no function's, or one
// dictionary keeps what several looks at it store.
ValueRef rule_locals(Tracer& t, CallArgs& args) {
  if (args.size() != 0) return {};
  const SymbolicFrame& f = t.frame();
  const bool comprehends =  // in place, with variables of its own
      std::ranges::any_of(f.body->slot_kinds, [](std::uint8_t kind) { return (kind & kSlotHidden) != 0; });
  if (!(f.body->flags & CO_OPTIMIZED) || comprehends || shares_locals(*f.body)) return {};
  auto found = make_ref<DictValue>(&PyDict_Type);
  for (std::size_t k = 0; k < f.slots.size() && k < f.body->slot_names.size(); ++k) {
    const PyRef& name = f.body->slot_names[k];
    if (text_of(name.get()).starts_with("___stack")) continue;  // of resumed code
    ValueRef v = f.slots[k];
    if (is_null(v)) continue;
    if (f.body->slot_kinds[k] & (kSlotCell | kSlotFree)) {
      auto* const cell = as<CellValue>(t.realize(v));
      v = cell ? cell->get(t) : v;  // no cell yet: an argument
    }
    if (v) found->put(t, t.constant(name), v);
  }
  return found;
}

constexpr BuiltinRow kFrameRules[] = {
    {"sys", "exc_info", rule_exc_info},
    {"sys", "exception", rule_exception},
    {"sys", "_getframe", rule_getframe},
    {"builtins", "locals", rule_locals},
};

}  // namespace

std::span<const BuiltinRow> frame_rules() { return kFrameRules; }

}  // namespace md
