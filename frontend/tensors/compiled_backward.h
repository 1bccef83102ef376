// Compiled autograd: backward() is recorded (ir/gradients/backward_recorder.h), captured by
// _dynamo/compiled_autograd.py as a graph where the same was not recorded before, and run by what a compiler made of
// that graph.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"
#include "ir/gradients/backward_recorder.h"

namespace md {

// What compiles the backward() that begins now in this thread: a callable that takes a GraphModule. Null: nothing does.
PyRef autograd_compiler();
// Asked where the thread has none of its own: what the code that is running is compiled with.
using CompilerOfCode = PyRef (*)();
void set_compiler_of_code(CompilerOfCode ask);

class GraphRecorder final : public BackwardRecorder {
 public:
  explicit GraphRecorder(PyRef compiler) : compiler_(std::move(compiler)) {}

 protected:
  std::vector<TensorRef> execute(std::span<const Step> steps, std::span<const TensorRef> asked) override;

 private:
  const PyRef compiler_;
};

std::span<const NativeRow> compiled_backward_functions();

}  // namespace md
