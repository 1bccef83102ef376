// Opens that region again inside of the trace, because regions that the traced code enters are nested in it.
#include "frontend/driver/ambient_autocast.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/values/objects.h"

namespace md {

// Of one kind of devices, by its two bits of autocast_word().
static void enter_region(Tracer& t, const char* kind, int word) {
  if (word == 0) return;
  const PyRef casts = checked(import_module("minidynamo.amp._casts"));
  const PyRef keep = checked(PyObject_GetAttrString(casts.get(), "_converted"));
  auto region = make_ref<ObjectValue>(autocast_region_type());
  const auto set = [&](const char* name, const ValueRef& v) {
    region->attrs.push_back({checked(PyUnicode_InternFromString(name)), v});
  };
  PyObject* const dtype = dtype_object(word == 1 ? DType::Float16 : DType::BFloat16);
  set("kind", t.constant(checked(PyUnicode_FromString(kind))));
  set("enabled", t.boolean(true));
  set("dtype", t.from_object(dtype, nullptr));
  set("keep", t.from_object(keep.get(), nullptr));
  set("covered", t.boolean(false));
  set("outer", t.none());
  t.overrides.modes.push_back(region);
}

void enter_autocast(Tracer& t) {
  enter_region(t, "cpu", autocast_word() & 3);
  enter_region(t, "cuda", autocast_word() >> 2);
}

std::ptrdiff_t traced_modes(const Tracer& t) {
  return std::ranges::count_if(t.overrides.modes,
                               [](const ValueRef& m) { return m->python_type() != autocast_region_type(); });
}

std::ptrdiff_t enter_function_modes(Tracer& t) {
  const SourceRef stack =
      modes_around() == 0 ? nullptr : t.recorder.sources.constant(modes_list(), "torch_function_modes");
  for (int i = 0; i < modes_around(); ++i) {
    PyObject* const mode = PyList_GET_ITEM(modes_list(), i);
    t.overrides.modes.push_back(
        t.realize(t.from_object(mode, t.recorder.sources.child(stack, SourceKind::ListItem, nullptr, i))));
  }
  return traced_modes(t);
}

}  // namespace md
