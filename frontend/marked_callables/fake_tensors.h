// Shapes and dtypes of an opaque call's results, found by running a function on fakes of its arguments: tensors of
// zeros whose memory nobody touches, or, where sizes are symbols, values of a graph that is thrown away.
#pragma once

#include <vector>

#include "frontend/trace/tracer.h"
#include "frontend/values/tensor.h"

namespace md {

struct FakeResult {
  PyRef shape;                    // see result_shape.h
  std::vector<TensorType> types;  // storage: an argument's, or -1
  std::vector<TensorRef> made;    // the results themselves, where there were numbers
  bool aliases = false;           // a result shares memory with an argument, or with another
  std::vector<int> writes;        // tensors among the arguments that were written to, by position
};

// The Python exception the function raised; it is no longer set.
struct FakeRaised {
  PyRef error;
};

// As an error of the call it was for: `call` is the node as errors print it.
struct FailedFakeRun : OpError {
  FailedFakeRun(PyRef error, std::string call)
      : OpError(ErrorKind::Runtime, "computing the shape of a result failed"),
        error(std::move(error)),
        call(std::move(call)) {}
  PyRef error;
  std::string call;
};

// Calls `function` (a real callable). Throws FakeRaised, GraphBreak for a result that cannot be in a graph.
// `name` is how errors call it; `traced`, if given, is a Python function that computes the same.
FakeResult run_on_fakes(Tracer& t, const std::string& name, PyObject* function, const ValueRef& traced,
                        const CallArgs& args);

// The tensors among a call's arguments, from left to right, keywords last.
std::vector<Ref<TensorValue>> tensors_of(Tracer& t, const CallArgs& args);

}  // namespace md
