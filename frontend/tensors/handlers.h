// Classes with __torch_dispatch__: their tensors are known to the program's handler only, which is asked below the
// record of gradients. Which operator it is asked about, and in which order, is in minidynamo/_aten.
#pragma once

#include <initializer_list>

#include "frontend/tensors/op_function.h"
#include "ir/tensor/handled.h"

namespace md {

// Whether instances of the class have a handler of their own.
bool class_has_handler(PyTypeObject* type);
// The tensor, of a class with a handler, is known to that handler only from here on.
void give_to_handler(PyObject* tensor);
// The program's object for a handler's tensor; null: it is none, or its object is gone.
PyObject* face_of_handled(const TensorImpl& t);
// Whether the end of instances runs code of the program: not what keeps the object of a handler's tensor alive while
// the tensor is needed.
bool has_finalizer(PyTypeObject* type);
// What the handlers answer to an operator of torch's that is no op of the table; null: none is asked.
PyRef handled_answer(const char* name, std::initializer_list<Arg> args);

// What stands for the call of a function in Python where handlers are asked: calls of torch's operators; null: its own.
PyRef whole_answer(PyObject* function, const PassedArgs& call);

// What modes make of a tensor that comes from values outside of all: torch.tensor(...).
PyRef lifted(PyRef tensor);

int init_handlers(PyObject* module);

}  // namespace md
