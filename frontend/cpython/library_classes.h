// Classes of our own package whose instances the tracer treats in a way of their own.
#pragma once

#include <Python.h>

namespace md {

enum class LibraryClass {
  Module,
  RecurrentModule,
  AutogradContext,
  AutogradFunction,
  HookHandle,
  SparseTensor,
  CompressedTensor,  // sparse too, by rows or columns
  NestedTensor,      // of the layout strided
  QuantizedTensor,
  SymbolicInt,
  FunctionMode
};

// The class or a class derived from it. False while nobody has imported the class: nothing can be derived from it then.
bool is_library_class(PyTypeObject* type, LibraryClass which);

}  // namespace md
