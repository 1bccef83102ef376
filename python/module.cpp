// minidynamo._C: the C++ side of the package.
#include <Python.h>

#include <initializer_list>

#include "backend/install.h"
#include "frontend/bytecode/init.h"
#include "frontend/cpython/cpython_init.h"
#include "frontend/graph_break_init.h"
#include "frontend/guards/init.h"
#include "frontend/init.h"
#include "frontend/op_table_init.h"
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
  md::install_block_engine();
  md::install_llvm_backend();
  Py_AtExit(&md::shut_down_block_engine);
  for (const auto init : {md::init_tensors, md::init_op_table, md::init_guards, md::init_registry, md::init_bytecode,
                          md::init_cpython, md::init_frontend}) {
    if (init(module) < 0) return -1;
  }
  return 0;
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
