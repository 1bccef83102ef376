// Tensors of a trace that a class's __torch_dispatch__ answers for. The graph holds their calls as it holds those of
// any tensor; what the handler makes of them is found out by asking it about a stand-in of the same class over zeros.
#pragma once

#include <vector>

#include "frontend/trace/tracer.h"
#include "frontend/values/objects.h"
#include "frontend/values/tensor.h"

namespace md {

// An instance from outside: its stand-in, and guards on what else it is made of. Breaks if it cannot be taken apart.
void take_stand_in(Tracer& t, ObjectValue& instance, PyObject* real);
// The value of a call's result of which `made` is the stand-in: an instance of its class, or a plain tensor.
ValueRef with_stand_in(Tracer& t, const ValueRef& tensor, const TensorRef& made);
// Whether one of the values is such a tensor, or holds one.
bool holds_handled(Tracer& t, const CallArgs& args);
// The results of a call of the stand-ins and of zeros for other tensors; `n` gets their types.
std::vector<TensorRef> call_stand_ins(Tracer& t, const CallArgs& args, Node& n, const BoundCall& call, bool inplace);
// An instance of such a class, made by calling the class: one node of the graph.
ValueRef make_handled(Tracer& t, const ClassValue& cls, CallArgs args);
// Whether the attribute is one of the tensors that an instance from outside, whose handler answers, is made of.
bool is_inner_tensor(ObjectValue& self, PyObject* name);
// An attribute that the program's handler, or the class's __init__, has given the tensor; null: there is none.
ValueRef handled_attr(Tracer& t, ObjectValue& self, PyObject* name);

}  // namespace md
