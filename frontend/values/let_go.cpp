// Finds out whether the end of an object runs code of the program, and breaks where it does.
#include "frontend/values/let_go.h"

#include <algorithm>

#include "frontend/cpython/byte_stream.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

// A weak reference of the program's calls something when the object goes.
bool is_watched(PyObject* o) {
  if (is_tensor(o) || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return false;
  auto* w = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(o));
  while (w && !w->wr_callback) w = w->wr_next;
  return w != nullptr;
}

// Whether code of the program runs when the object goes: its __del__, a callback, or what a generator has around its
// last `yield`.
bool acts_at_its_end(PyObject* o, int depth = 0) {
  if ((PyTuple_CheckExact(o) || PyList_CheckExact(o)) && depth < 3) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(o),
                       [&](PyObject* x) { return acts_at_its_end(x, depth + 1); });
  }
  if (PyType_Check(o)) return false;
  if (is_watched(o)) return true;
  if (is_byte_stream(o)) return false;  // closes itself, in C
  if (!PyGen_CheckExact(o)) return has_finalizer(Py_TYPE(o));
  PyRef suspended = checked(PyObject_GetAttrString(o, "gi_suspended"));
  return suspended.get() == Py_True;
}

[[noreturn]] void leave(PyTypeObject* type) {
  unmodelled(std::string("UserDefinedObjectVariable(") + type_name(type) + ")",
             "letting go of an object whose end runs code of the program");
}

// Made in the trace, of a class with a __del__.
bool is_made_to_act(const ValueRef& v) {
  auto* const o = as<ObjectValue>(v);
  return o && !o->real && !o->source && has_finalizer(o->type);
}

FrameNotes& notes_of_root(Tracer& t) {
  return frame_notes(reinterpret_cast<PyCodeObject*>(t.stack.frames.front()->code.get()));
}

}  // namespace

void let_go(const ValueRef& old) {
  if (is_made_to_act(old)) leave(old->python_type());
  if (old) let_go_of_object(old->real.get());
}

void let_go(std::span<const ValueRef> old) {
  for (const ValueRef& v : old) let_go(v);
}

void let_go_of_object(PyObject* old) {
  if (old && acts_at_its_end(old)) leave(Py_TYPE(old));
}

// A graph holds its inputs to its end.
void let_go(const SymbolicFrame& f, const ValueRef& old, int places) {
  if (!is_made_to_act(old) && (!old || !old->source || !old->real || !acts_at_its_end(old->real.get()))) return;
  const auto holds = [&](const ValueRef& v) { return v && v.get() == old.get(); };
  if (std::ranges::count_if(f.slots, holds) + std::ranges::count_if(f.stack, holds) > places) return;
  leave(old->python_type());
}

bool may_make_to_act(Tracer& t) { return notes_of_root(t).lost_objects == LostObjects::None; }

void expect_kept(const Tracer& t, FrameNotes& notes, const std::function<bool(const ValueRef&)>& is_kept) {
  for (const ValueRef& v : t.objects.data_owners) {
    if (!is_made_to_act(v) || is_kept(v)) continue;
    notes.lost_objects = LostObjects::Found;
    leave(v->python_type());
  }
}

bool may_let_go(Tracer& t) {
  const SymbolicFrame& root = *t.stack.frames.front();
  auto* const code = reinterpret_cast<PyCodeObject*>(root.code.get());
  const int arguments = code->co_argcount + code->co_kwonlyargcount + bool(code->co_flags & CO_VARARGS) +
                        bool(code->co_flags & CO_VARKEYWORDS);
  const auto only_adds = [](const SideEffect& e) {
    return e.kind == EffectKind::SetAdd || e.kind == EffectKind::ListAppend;
  };
  if (!std::ranges::all_of(t.effects.list(), only_adds)) return true;
  return std::ranges::any_of(root.body->instructions, [&](const Instruction& i) {
    const bool stores = i.op == Opcode::STORE_FAST || i.op == Opcode::STORE_DEREF;
    return i.op == Opcode::DELETE_FAST || i.op == Opcode::DELETE_DEREF || (stores && i.a < arguments);
  });
}

}  // namespace md
