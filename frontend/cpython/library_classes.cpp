// Looks each class up in sys.modules whenever it is asked about; nothing is imported for the question.
#include "frontend/cpython/library_classes.h"

#include "frontend/cpython/py_ref.h"

namespace md {

namespace {

struct Place {
  const char *module, *name;
};

Place place_of(LibraryClass which) {
  switch (which) {
    case LibraryClass::Module:
      return {"minidynamo.nn.module", "Module"};
    case LibraryClass::RecurrentModule:
      return {"minidynamo.nn.recurrent", "RNNBase"};
    case LibraryClass::AutogradContext:
      return {"minidynamo.autograd.function", "FunctionCtx"};
    case LibraryClass::HookHandle:
      return {"minidynamo.nn.hooks", "RemovableHandle"};
    case LibraryClass::SparseTensor:
      return {"minidynamo.sparse.coo", "SparseTensor"};
    case LibraryClass::CompressedTensor:
      return {"minidynamo.sparse.compressed", "CompressedTensor"};
    case LibraryClass::NestedTensor:
      return {"minidynamo.nested.members", "MembersTensor"};
    case LibraryClass::QuantizedTensor:
      return {"minidynamo.quantized_tensors", "QuantizedTensor"};
    case LibraryClass::SymbolicInt:
      return {"minidynamo.fx.experimental.symbolic_shapes", "SymInt"};
    case LibraryClass::FunctionMode:
      return {"minidynamo.overrides", "TorchFunctionMode"};
    default:
      return {"minidynamo.autograd.function", "Function"};
  }
}

}  // namespace

bool is_library_class(PyTypeObject* type, LibraryClass which) {
  const Place place = place_of(which);
  PyObject* module = find_item(PyImport_GetModuleDict(), place.module);
  if (!module || !PyModule_Check(module)) return false;
  PyObject* cls = find_item(PyModule_GetDict(module), place.name);
  return cls && PyType_Check(cls) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace md
