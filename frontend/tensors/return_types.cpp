// Named tuples of ops with several named results: torch.return_types.max(values=..., indices=...).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontend/tensors/op_function.h"

namespace md {

namespace {

// One type per op with named results, by op id; filled at import.
std::vector<PyTypeObject*>* result_types = nullptr;

// One field a line, as the reference prints them.
PyObject* result_repr(PyObject* o) {
  return guarded([&]() -> PyObject* {
    PyRef fields = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__match_args__"));
    PyRef name = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__name__"));
    PyRef text = checked(PyUnicode_FromFormat("torch.return_types.%U(\n", name.get()));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
      PyRef value = checked(PyObject_Repr(PyTuple_GET_ITEM(o, i)));
      text = checked(PyUnicode_FromFormat("%U%s%U=%U", text.get(), i ? ",\n" : "", PyTuple_GET_ITEM(fields.get(), i),
                                          value.get()));
    }
    return PyUnicode_FromFormat("%U)", text.get());
  });
}

PyTypeObject* make_type(const Op& o) {
  // The interpreter keeps pointers to these texts.
  auto* name = new std::string("minidynamo.return_types." + o.public_name);
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (const std::string& field : o.schema.result_names) fields->push_back({field.c_str(), nullptr});
  const int count = static_cast<int>(fields->size());
  fields->push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{name->c_str(), "Results of an op, by name and by position.", fields->data(), count};
  PyTypeObject* type = PyStructSequence_NewType(&desc);
  if (!type) throw PythonError{};
  type->tp_repr = result_repr;
  return type;
}

}  // namespace

PyTypeObject* named_result_type(const Op& op) { return (*result_types)[op.id]; }

const Op* op_of_result_type(const PyTypeObject* type) {
  const auto place = std::ranges::find(*result_types, type);
  return type && place != result_types->end() ? &all_ops()[place - result_types->begin()] : nullptr;
}

PyRef named_result(const Op& op, const Arg& result) {
  const auto& items = result.get<ListArg>().items;
  PyRef made = checked(PyStructSequence_New(named_result_type(op)));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyStructSequence_SetItem(made.get(), static_cast<Py_ssize_t>(i), from_arg(items[i]).release());
  }
  return made;
}

int add_return_types(PyObject* module) {
  return guarded([&]() -> PyObject* {
    PyRef submodule = checked(PyModule_New("minidynamo.return_types"));
    result_types = new std::vector<PyTypeObject*>(all_ops().size(), nullptr);
    std::map<std::string, const Op*> first;  // overloads of one name, as sort has, share their type
    for (const Op& o : all_ops()) {
      if (o.schema.result_names.empty()) continue;
      const Op* other = first.try_emplace(o.public_name, &o).first->second;
      const bool shared = other != &o && other->schema.result_names == o.schema.result_names;
      PyTypeObject* type = (*result_types)[o.id] = shared ? (*result_types)[other->id] : make_type(o);
      checked(PyObject_SetAttrString(submodule.get(), o.public_name.c_str(), reinterpret_cast<PyObject*>(type)));
    }
    // Importable by name, so that results can be pickled.
    checked(PyDict_SetItemString(PyImport_GetModuleDict(), "minidynamo.return_types", submodule.get()));
    checked(PyModule_AddObjectRef(module, "return_types", submodule.get()));
    return Py_None;
  })
             ? 0
             : -1;
}

}  // namespace md
