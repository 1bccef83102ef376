// Puts the tensor part of minidynamo._C together.
#include "frontend/tensors/absent_names.h"
#include "frontend/tensors/compiled_backward.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/function_node.h"
#include "frontend/tensors/generator_object.h"
#include "frontend/tensors/gradient_hooks.h"
#include "frontend/tensors/gradients.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/tensors/saved_tensor_object.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"

namespace md {

int init_tensor_type(PyObject* module);

int init_tensors(PyObject* module) {
  if (init_dtypes(module) < 0 || init_size(module) < 0 || init_device(module) < 0) return -1;
  if (init_memory_formats(module) < 0) return -1;
  if (init_op_functions(module) < 0 || init_tensor_type(module) < 0) return -1;
  if (init_function_modes(module) < 0 || init_subclass(module) < 0) return -1;
  if (init_overridable_functions(module) < 0) return -1;
  if (init_generator(module) < 0) return -1;
  if (add_table_ops(module) < 0 || add_table_properties() < 0 || add_return_types(module) < 0) return -1;
  for (auto rows : {tensor_native_methods(), gradient_methods(), hook_methods(), scalar_methods(), metadata_methods(),
                    numpy_methods(), dlpack_methods(), format_methods(), element_questions()}) {
    if (add_native_methods(rows) < 0) return -1;
  }
  for (auto rows : {creation_functions(), numpy_functions(), dlpack_functions(), buffer_functions(),
                    saved_tensor_functions(), format_functions(), namespace_functions(), gradient_functions(),
                    function_node_functions(), saved_tensor_hook_functions(), anomaly_functions(),
                    compiled_backward_functions(), element_questions(), transform_functions()}) {
    if (add_native_functions(module, rows) < 0) return -1;
  }
  if (init_dlpack() < 0 || init_gradients(module) < 0 || init_absent_names(module) < 0) return -1;
  if (init_handlers(module) < 0) return -1;
  return init_operators(module);
}

}  // namespace md
