#include "frontend/op_table_init.h"

#include "frontend/py_ref.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/op_table_json.h"

namespace md {
namespace {

PyObject* op_table_text(PyObject*, PyObject*) {
  return guarded([] {
    const std::string text = op_table_json();
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

PyMethodDef kFunctions[] = {{"op_table_json", op_table_text, METH_NOARGS,
                             "One JSON object per declared op: name, kind, signature, params, results, doc."},
                            {nullptr, nullptr, 0, nullptr}};

}  // namespace

int init_op_table(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace md
