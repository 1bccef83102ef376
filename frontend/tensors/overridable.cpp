// Attributes of Tensor: reading one of a subclass, or under a mode, is a call of Tensor.<name>.__get__.
#include "frontend/tensors/overridable.h"

#include <cstring>
#include <vector>

namespace md {

PyRef ask_attribute(const char* name, const char* access, std::initializer_list<PyObject*> operands) {
  const PyRef attribute = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  const PyRef function = checked(PyObject_GetAttrString(attribute.get(), access));
  return try_torch_function(function.get(),
                            PassedArgs{operands.begin(), static_cast<Py_ssize_t>(operands.size()), nullptr});
}

namespace {

const PyGetSetDef& plain(void* context) { return *static_cast<const PyGetSetDef*>(context); }

PyObject* get(PyObject* self, void* context) {
  const PyGetSetDef& row = plain(context);
  if (!may_be_overridden(self)) return row.get(self, row.closure);
  return guarded([&]() -> PyObject* {
    if (PyRef answer = ask_attribute(row.name, "__get__", {self})) return answer.release();
    PyRef value = checked(row.get(self, row.closure));
    const bool as_it_is = std::ranges::find(kUnconverted, row.name) != std::end(kUnconverted);
    return !as_it_is ? keep_subclass(std::move(value), PassedArgs{&self, 1, nullptr}).release() : value.release();
  });
}

int set(PyObject* self, PyObject* value, void* context) {
  const PyGetSetDef& row = plain(context);
  if (!may_be_overridden(self)) return row.set(self, value, row.closure);
  PyObject* const ok = guarded([&]() -> PyObject* {
    const PyRef answer =
        value ? ask_attribute(row.name, "__set__", {self, value}) : ask_attribute(row.name, "__delete__", {self});
    return answer || row.set(self, value, row.closure) == 0 ? Py_None : nullptr;
  });
  return ok ? 0 : -1;
}

}  // namespace

PyGetSetDef* asking_attributes(PyGetSetDef* attributes) {
  auto* rows = new std::vector<PyGetSetDef>;  // the type refers to them for ever
  for (PyGetSetDef* row = attributes; row->name; ++row) {
    const bool asks = std::strcmp(row->name, "__dict__") != 0 && std::strcmp(row->name, "__array_priority__") != 0;
    rows->push_back(asks ? PyGetSetDef{row->name, get, row->set ? set : nullptr, row->doc, row} : *row);
  }
  rows->push_back({});
  return rows->data();
}

}  // namespace md
