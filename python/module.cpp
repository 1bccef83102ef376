// minidynamo._C: the C++ side of the package.
#include <Python.h>

#include "backend/install.h"
#include "frontend/graph_break_init.h"
#include "frontend/guards/init.h"
#include "frontend/tensors/tensor_object.h"

namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "minidynamo._C",
    "Tensors, tracing and compiled code.",
    -1,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

int fill(PyObject* module) {
  md::install_llvm_backend();
  if (md::init_tensors(module) < 0) return -1;
  if (md::init_guards(module) < 0) return -1;
  return md::init_registry(module);
}

}  // namespace

PyMODINIT_FUNC PyInit__C() {
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  if (fill(module) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
