// Finds the mapping as the garbage collector does, by tp_traverse: no field of these structs is public.
#include "frontend/cpython/held_mapping.h"

namespace md {

namespace {

struct HeldObjects {
  PyObject* first = nullptr;
  int number = 0;
};

int note_held(PyObject* o, void* into) {
  auto* held = static_cast<HeldObjects*>(into);
  if (++held->number == 1) held->first = o;
  return 0;
}

}  // namespace

PyObject* held_mapping(PyObject* view) {
  HeldObjects held;
  if (!Py_TYPE(view)->tp_traverse) return nullptr;
  (void)Py_TYPE(view)->tp_traverse(view, note_held, &held);
  return held.number == 1 ? held.first : nullptr;
}

}  // namespace md
