// What the traced program stores in attributes of tensors: new ones, x.decay = 0.5, and x.data.
#include <algorithm>

#include "frontend/cpython/object_text.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_functions.h"

namespace md {

const ValueRef* TensorValue::note(PyObject* name) const {
  const auto at =
      std::ranges::find_if(notes, [&](const auto& e) { return PyUnicode_Compare(e.first.get(), name) == 0; });
  return at == notes.end() ? nullptr : &at->second;
}

// Of the reference's tensor type: what is stored there reaches the engine of gradients.
static bool is_of_engine(const std::string& name) {
  return name == "_backward_hooks" || name == "_post_accumulate_grad_hooks" || name.starts_with("_dynamo");
}

bool keeps_note(Tracer& t, TensorValue& self, PyObject* name, const ValueRef& v) {
  if (!v || self.of_instance || self.stand_in || !t.graphs.outer.empty() || is_of_engine(text_of(name))) return false;
  PyRef on_type = PyRef::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(self.python_type()), name));
  if (!on_type) clear_answer();
  if (on_type || tensor_has_attr(text_of(name)) || tensor_has_method(text_of(name))) return false;
  const auto at =
      std::ranges::find_if(self.notes, [&](const auto& e) { return PyUnicode_Compare(e.first.get(), name) == 0; });
  if (at == self.notes.end())
    self.notes.emplace_back(PyRef::borrow(name), v);
  else
    at->second = v;
  SideEffect e{EffectKind::AttrSet, ValueRef(&self)};
  e.name = PyRef::borrow(name), e.value = v;
  t.effects.record(std::move(e));
  return true;
}

// An input that has no part in gradients is from here on the tensor it was given, in the trace as outside.
bool takes_data(Tracer& t, TensorValue& self, TensorValue& v) {
  const bool plain = self.python_type() == tensor_type && v.python_type() == tensor_type;
  if (!plain || !self.real || !self.source || self.type.requires_grad || v.type.requires_grad) return false;
  if (self.type.device != v.type.device) return false;
  SideEffect e{EffectKind::AttrSet, ValueRef(&self)};
  e.name = checked(PyUnicode_InternFromString("data")), e.value = ValueRef(&v);
  self.node = v.node;
  self.type = v.type;
  t.effects.record(std::move(e));
  return true;
}

}  // namespace md
