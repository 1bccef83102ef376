// x.T and the like: attributes that are ops of the table, called with the tensor alone.
#include <atomic>
#include <string>

#include "frontend/tensors/overridable.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/warn_once.h"
#include "ir/run/eager.h"

namespace md {

namespace {

// .T and .mT are meant for matrices; of other tensors .T will not stay what it is.
void warn_of_transposing(const Op& o, std::int64_t dimensions) {
  static std::atomic_flag said_of_scalars, said_of_others;
  if (dimensions == 2 || (o.public_name != "T" && o.public_name != "mT")) return;
  if (dimensions == 0)
    warn_once(said_of_scalars, "x.T and x.mT of a tensor without dimensions are the tensor itself, and deprecated.");
  else if (o.public_name == "T")
    warn_once(said_of_others,
              "x.T of a tensor that has not two dimensions is deprecated: x.mT transposes matrices, and "
              "x.permute(*range(x.ndim - 1, -1, -1)) reverses all dimensions.");
}

// An attribute such as x.T: the op called with the tensor alone.
PyObject* get_property(PyObject* self, void* context) {
  const Op& o = *static_cast<const Op*>(context);
  return guarded([&]() -> PyObject* {
    const PassedArgs call{&self, 1, nullptr};
    if (may_be_overridden(self)) {
      if (PyRef answer = ask_attribute(o.public_name.c_str(), "__get__", {self})) return answer.release();
    }
    warn_of_transposing(o, static_cast<std::int64_t>(tensor_impl(self)->dim()));
    BoundArgs bound{Arg(TensorRef(tensor_impl(self)))};
    for (std::size_t i = 1; i < o.schema.params.size(); ++i) bound.push_back(o.schema.params[i].default_value);
    return keep_subclass(wrap_result(o, call_op(o, bound), call), call).release();
  });
}

void add_property(const Op& o) {
  // CPython keeps pointers to the definition and its texts for as long as the type lives.
  const auto* const doc = new std::string(o.decl->doc);
  auto* definition = new PyGetSetDef{o.public_name.c_str(), get_property, nullptr, doc->c_str(), const_cast<Op*>(&o)};
  PyRef descriptor = checked(PyDescr_NewGetSet(tensor_type, definition));
  checked(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), definition->name, descriptor.get()));
}

}  // namespace

int add_table_properties() {
  return guarded([&]() -> PyObject* {
    for (const Op& o : all_ops()) {
      if (o.decl->property) add_property(o);
    }
    return Py_None;
  })
             ? 0
             : -1;
}

}  // namespace md
