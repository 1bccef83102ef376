// Binds the op table to Python as JSON text.
#include "frontend/tensors/op_table_init.h"

#include <pybind11/pybind11.h>

#include "ir/graph/op_table_json.h"

namespace md {

void bind_op_table(pybind11::module_& module) {
  module.def("op_table_json", &op_table_json,
             "One JSON object per declared op: name, kind, signature, params, results, doc.");
}

}  // namespace md
