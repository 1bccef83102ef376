// What the registry lists about modules of torch.nn and objects of the library although it could be traced.
#pragma once

#include "frontend/values/objects.h"

namespace md {

// The program has marked the module as one whose parts never change (torchdynamo_force_dynamic = False).
bool is_specialized(const ObjectValue& module);
// Reading `name`, which the class has as `found`, through an instance.
void break_on_listed_attr(Tracer& t, const ObjectValue& self, PyObject* name, PyObject* found);
// A call of one of the library's own functions for modules.
void break_on_listed_module_call(Tracer& t, const std::string& module, const std::string& name, const CallArgs& args);
// A method of an optimizer that goes through groups of parameters of which one lacks its plain key "params".
void break_on_listed_group(Tracer& t, const std::string& module, const std::string& name, const CallArgs& args);
// A method in C, inherited from object as a rule, of the context of an autograd.Function, an event or the engine.
void break_on_listed_method(Tracer& t, const ValueRef& owner, PyObject* name);
// An object made while tracing that would outlive the graph.
void break_on_listed_escape(const ObjectValue& self);

// assertWarns and its kin, looked up on a TestCase.
void break_on_watched_warnings(PyObject* method);

}  // namespace md
