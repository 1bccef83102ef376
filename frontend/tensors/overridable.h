// Slots and attributes of Tensor that ask modes and subclasses first.
#pragma once

#include <algorithm>
#include <cstddef>

#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/subclass.h"

namespace md {

struct SlotName {
  template <std::size_t N>
  constexpr SlotName(const char (&given)[N]) {  // NOLINT(google-explicit-constructor)
    static_assert(N <= sizeof text);
    std::copy_n(given, N, text);
  }
  char text[16] = {};
};

// A slot that gives an object: repr(), int(), ~x.
template <SlotName kName, PyObject* (*kSlot)(PyObject*)>
PyObject* asking(PyObject* self) {
  if (!may_be_overridden(self)) return kSlot(self);
  return guarded([&]() -> PyObject* {
    if (PyRef answer = ask_overrides(kName.text, {self})) return answer.release();
    return kSlot(self);
  });
}

// A slot that gives a truth value.
template <SlotName kName, int (*kSlot)(PyObject*)>
int asking_truth(PyObject* self) {
  if (!may_be_overridden(self)) return kSlot(self);
  int value = 0;
  PyObject* const ok = guarded([&]() -> PyObject* {
    const PyRef answer = ask_overrides(kName.text, {self});
    value = answer ? PyObject_IsTrue(answer.get()) : kSlot(self);
    return value < 0 ? nullptr : Py_None;
  });
  return ok ? value : -1;
}

template <SlotName kName, Py_ssize_t (*kSlot)(PyObject*)>
Py_ssize_t asking_length(PyObject* self) {
  if (!may_be_overridden(self)) return kSlot(self);
  Py_ssize_t value = 0;
  PyObject* const ok = guarded([&]() -> PyObject* {
    const PyRef answer = ask_overrides(kName.text, {self});
    value = answer ? PyNumber_AsSsize_t(answer.get(), PyExc_OverflowError) : kSlot(self);
    return value < 0 ? nullptr : Py_None;
  });
  return ok ? value : -1;
}

template <SlotName kName, int (*kSlot)(PyObject*, PyObject*)>
int asking_contains(PyObject* self, PyObject* value) {
  if (!may_be_overridden(self)) return kSlot(self, value);
  int found = 0;
  PyObject* const ok = guarded([&]() -> PyObject* {
    const PyRef answer = ask_overrides(kName.text, {self, value});
    found = answer ? PyObject_IsTrue(answer.get()) : kSlot(self, value);
    return found < 0 ? nullptr : Py_None;
  });
  return ok ? found : -1;
}

// The answer of a mode or a class to Tensor.<name>.<access>(self, ...); null: nobody has one.
PyRef ask_attribute(const char* name, const char* access, std::initializer_list<PyObject*> operands);
// The rows of `attributes`, which end with an empty one, in a form that asks first; made once.
PyGetSetDef* asking_attributes(PyGetSetDef* attributes);

}  // namespace md
