// minidynamo._C: the C++ side of the package.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "backend/device/cuda_device.h"
#include "backend/device_blocks/embedded.h"
#include "backend/device_blocks/engine.h"
#include "backend/device_blocks/host_calls.h"
#include "backend/executable/install.h"
#include "frontend/bytecode/init.h"
#include "frontend/cpython/cpython_init.h"
#include "frontend/driver/graph_module.h"
#include "frontend/driver/init.h"
#include "frontend/guards/init.h"
#include "frontend/report/graph_break_init.h"
#include "frontend/tensors/device_functions.h"
#include "frontend/tensors/op_table_init.h"
#include "frontend/tensors/tensor_object.h"
#include "python/extension_api.h"

namespace py = pybind11;

// Functions of hot paths are written against the C API and add themselves; the others are bound here.
PYBIND11_MODULE(_C, module) {
  module.doc() = "Tensors, tracing and compiled code.";
  py::register_local_exception_translator(
      [](std::exception_ptr error) { md::guarded([&]() -> PyObject* { std::rethrow_exception(error); }); });
  if (const std::string reason = md::unusable_cpu(); !reason.empty()) throw py::import_error(reason);
  md::install_block_engine();
  md::install_llvm_backend();
  md::install_cuda();
  md::device_blocks::install_device_engine();
  Py_AtExit(&md::shut_down_block_engine);
  for (const auto init : {md::init_tensors, md::init_guards, md::init_bytecode, md::init_cpython, md::init_frontend,
                          md::init_extension_api})
    if (init(module.ptr()) < 0) throw py::error_already_set();
  module.def(
      "_log_api_usage_once", [](const py::str&) {}, "Does nothing: no use of anything is reported. Libraries call it.");
  md::bind_op_table(module);
  md::bind_registry(module);
  md::bind_graph(module);
  md::bind_devices(module);
  module.def("_device_calls_on_host", &md::device_blocks::host_calls);
  module.def("_device_kernels", &md::device_blocks::entry_names);
  module.def("_device_kernel_text", [](const std::string& name) {
    const auto* entry = md::device_blocks::find_entry(name);
    if (!entry) throw py::key_error(name);
    return md::device_blocks::ptx_of(*entry);
  });
}
